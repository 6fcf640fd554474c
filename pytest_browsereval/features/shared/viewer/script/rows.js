// The rows of runs: what they are. Of a page that has two runs, each has its own.

/**
 * @typedef {{home: string, details: string, alone?: boolean, side?: string} & Record<string, any>} AboutRun
 * @typedef {{place: number, key: string, chunk: number, verdict: Verdict, id: string, query: string, reason: string,
 *   dataset: string, site: string, tags: string[], variant: string, trial: number, attempt: number, tries: number,
 *   source: string, end: string, cause: string, derived: string, channel: string, outcome: string, steps: number | null, ms: number | null, cost: number | null, started: string,
 *   progress?: [number, string] | null, text: string, run: AboutRun}} Row
 */

/** @param {any} table @returns {Row[]} */
function readRows({ run, columns, words, rows }) {
  run.side ??= ""; // as details of the only run have it
  return rows.map((/** @type {any[]} */ values, /** @type {number} */ place) => {
    /** @type {any} */
    const row = { place, text: "", run };
    columns.forEach((/** @type {string} */ name, /** @type {number} */ column) => {
      const value = values[column];
      if (name === "tags") row.tags = value.map((/** @type {number} */ tag) => words.tags[tag]);
      else row[name] = words[name] ? words[name][value] : value;
    });
    return row;
  });
}

/** The rows of tasks, each with its trials. @param {Row[]} rows @returns {Map<string, Row[]>} */
function byTask(rows) {
  /** @type {Map<string, Row[]>} */
  const found = new Map();
  for (const row of rows) {
    const name = taskOf(row.id, row.variant);
    const known = found.get(name);
    if (known) known.push(row);
    else found.set(name, [row]);
  }
  return found;
}

/** @param {string} id @param {string} variant */
const taskOf = (id, variant) => JSON.stringify([id, variant]);
