// Details of attempts: a script with some of them is loaded when one is looked at.

/**
 * @typedef {{metadata: any, lines: any[], files: string[], pictures: Map<number, string>, problem: string, notes: string[],
 *   records: Records}} Details
 */

/** Raw details by the attempt's key; the last scripts that were loaded. @type {{side: string, attempts: Map<string, any[]>}[]} */
const kept = [];
const MOST_KEPT = 8;

/** Called by a script with details; where there are two runs, it says of which. @type {any} */
(window).browsereval = (/** @type {Record<string, any[]>} */ given, side = "") => {
  kept.unshift({ side, attempts: new Map(Object.entries(given)) });
  kept.length = Math.min(kept.length, MOST_KEPT);
};

/** @param {Row} row */
const keptOf = ({ key, run }) => kept.find(({ side, attempts }) => side === run.side && attempts.has(key))?.attempts.get(key);

/**
 * @param {Row} row
 * @returns {Promise<Details>}
 */
async function detailsOf(row) {
  if (!keptOf(row)) await load(row.run, row.chunk);
  const raw = keptOf(row);
  if (!raw) throw new Error(`the details beside this page are of another time. Write it again: ${WRITTEN_BY}`);
  return parsed(raw);
}

/** @param {AboutRun} run @param {number} chunk @returns {Promise<void>} */
function load(run, chunk) {
  const inside = document.querySelector(`script[data-chunk="${Number(chunk)}"]`);
  if (inside) {
    /** @type {any} */ (window).browsereval(JSON.parse(inside.textContent || "{}"));
    return Promise.resolve();
  }
  const name = `${run.details}/${String(chunk).padStart(4, "0")}.js`;
  return new Promise((done, refuse) => {
    const script = document.createElement("script");
    script.src = addressOfPath(name);
    script.onload = () => done();
    script.onerror = () => refuse(new Error(`${name} is not there. It belongs beside this page; ${WRITTEN_BY} writes both`));
    document.head.append(script);
    script.addEventListener("load", () => script.remove());
  });
}

/** A picture that is inside of a page that stands alone. @param {Row} row @param {string} name @returns {string | undefined} */
const insideOf = (row, name) => keptOf(row)?.[7]?.[name];

/** @param {any[]} raw @returns {Details} */
function parsed([metadata, log, files, pictures, leftOut, problem, records]) {
  const notes = [];
  if (leftOut) notes.push(`The last ${leftOut.toLocaleString("en")} bytes of messages.jsonl are not shown.`);
  const texts = log.split("\n");
  const cut = texts.pop();
  if (cut) notes.push("The last line of messages.jsonl is cut: the attempt was killed while it was written.");
  const numbered = pictures.map((/** @type {string} */ name) => [Number((/^(\d+)\.(?:jpe?g|png|webp)$/.exec(name) || [])[1]), name]);
  return {
    metadata: tryParse(metadata) || {},
    lines: texts.map(line),
    files,
    pictures: new Map(numbered.filter((/** @type {[number, string]} */ [number]) => number)),
    problem,
    notes,
    records: recordsOf(records || {}),
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
