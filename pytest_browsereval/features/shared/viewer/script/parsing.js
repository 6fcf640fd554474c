// What is stored of an attempt, as the page needs it.

/**
 * @typedef {{metadata: any, lines: any[], files: string[], pictures: Map<number, string>, problem: string, notes: string[],
 *   leftOut: number, records: Records, cause: {text: string, step: number | null} | null}} Details
 */

/** The number of the picture that is taken before anything is done. */
const START = 0;

/** @param {any[]} raw @returns {Details} */
function parsed([metadata, log, files, pictures, leftOut, problem, records]) {
  const notes = [];
  if (leftOut && log) notes.push(`The last ${leftOut.toLocaleString("en")} bytes of messages.jsonl are not shown.`);
  const texts = log.split("\n");
  const cut = texts.pop();
  if (cut) notes.push("The last line of messages.jsonl is cut off: the attempt was killed while the line was written.");
  const numbered = pictures.map((/** @type {string} */ name) => [Number((/^(\d+)\.(?:jpe?g|png|webp)$/.exec(name) || [])[1] ?? NaN), name]);
  return {
    metadata: (!problem && tryParse(metadata)) || {}, // what is damaged may be JSON all the same
    lines: texts.map(line),
    files,
    pictures: new Map(numbered.filter((/** @type {[number, string]} */ [number]) => !Number.isNaN(number))),
    problem,
    notes,
    leftOut: log ? 0 : leftOut,
    records: recordsOf(records || {}),
    cause: records?.cause || null,
  };
}

/** @param {string} text */
function tryParse(text) {
  try {
    const value = JSON.parse(text);
    return value !== null && typeof value === "object" && !Array.isArray(value) ? value : null;
  } catch {
    return null;
  }
}

/** A line of the log; one that cannot be read stands for itself. @param {string} text */
const line = (text) => tryParse(text) || { type: "damaged", content: text };
