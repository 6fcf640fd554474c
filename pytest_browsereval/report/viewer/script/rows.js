// The rows of the run page: what they are, which are shown, in which order.

/**
 * @typedef {{place: number, key: string, chunk: number, verdict: Verdict, id: string, query: string, reason: string,
 *   dataset: string, site: string, tags: string[], variant: string, trial: number, attempt: number, tries: number,
 *   source: string, end: string, steps: number | null, ms: number | null, cost: number | null, started: string,
 *   text: string}} Row
 */

/** @returns {Row[]} */
function readRows() {
  const { columns, words } = DATA;
  return DATA.rows.map((/** @type {any[]} */ values, /** @type {number} */ place) => {
    /** @type {any} */
    const row = { place, text: "" };
    columns.forEach((/** @type {string} */ name, /** @type {number} */ column) => {
      const value = values[column];
      if (name === "tags") row.tags = value.map((/** @type {number} */ tag) => words.tags[tag]);
      else row[name] = words[name] ? words[name][value] : value;
    });
    return row;
  });
}

const ROWS = readRows();
/** Attempts that errored and were made again are reached from the last one. */
let TRIALS = ROWS.filter((row) => row.tries);
const BY_KEY = new Map(ROWS.map((row) => [row.key, row]));

/** What rows can be chosen by. @type {Record<string, {title: string, of: (row: Row) => string[]}>} */
const FACETS = {
  site: { title: "Site", of: (row) => [row.site] },
  dataset: { title: "Dataset", of: (row) => [row.dataset] },
  tag: { title: "Tag", of: (row) => row.tags },
  variant: { title: "Variant", of: (row) => [row.variant] },
  trial: { title: "Trial", of: (row) => [String(row.trial)] },
  source: { title: "Error source", of: (row) => [row.source] },
  end: { title: "Ended by", of: (row) => [row.end] },
};

/** @type {Record<string, {title: string, of: (row: Row) => any, isDown?: boolean}>} */
const SORTS = {
  verdict: { title: "Verdict", of: (row) => ORDER.indexOf(row.verdict) },
  id: { title: "Task", of: (row) => row.id },
  site: { title: "Site", of: (row) => row.site },
  variant: { title: "Variant", of: (row) => row.variant },
  trial: { title: "Trial", of: (row) => row.trial },
  steps: { title: "Steps", of: (row) => row.steps, isDown: true },
  ms: { title: "Time", of: (row) => row.ms, isDown: true },
  cost: { title: "Cost", of: (row) => row.cost, isDown: true },
};

/** What is shown of the run. @type {{query: string, verdict: string, sort: string, isDown: boolean, chosen: Record<string, string>}} */
const choice = { query: "", verdict: "", sort: "verdict", isDown: false, chosen: {} };

/** The rows that are shown, in their order. @type {Row[]} */
let shownRows = TRIALS;

/** @param {Row} row */
function textOf(row) {
  row.text ||= [row.id, row.query, row.reason, row.site, row.dataset, row.variant, row.source, ...row.tags].join("\n").toLowerCase();
  return row.text;
}

/**
 * The rows that are chosen.
 * @param {{verdict?: boolean, facet?: string}} [except] what is not asked for
 */
function chosenRows(except = {}) {
  const words = choice.query.toLowerCase().split(/\s+/).filter(Boolean);
  const facets = Object.entries(choice.chosen).filter(([name, value]) => value !== "" && name !== except.facet);
  return TRIALS.filter(
    (row) =>
      (except.verdict || !choice.verdict || row.verdict === choice.verdict) &&
      facets.every(([name, value]) => FACETS[name].of(row).includes(value === NONE ? "" : value)) &&
      words.every((word) => textOf(row).includes(word)),
  );
}

const NONE = "(none)";

/** @param {Row[]} rows */
function sorted(rows) {
  const { of } = SORTS[choice.sort];
  const compare = new Intl.Collator("en", { numeric: true }).compare;
  const sign = choice.isDown ? -1 : 1;
  const keyed = rows.map((row) => /** @type {[any, Row]} */ ([of(row), row]));
  keyed.sort(([a, first], [b, second]) => {
    if (a === null || b === null) return Number(a === null) - Number(b === null) || first.place - second.place;
    return sign * (typeof a === "string" ? compare(a, b) : a - b) || first.place - second.place;
  });
  return keyed.map(([, row]) => row);
}

/** How many rows there are of each verdict. @param {Row[]} rows @returns {Record<string, number>} */
function tally(rows) {
  const counts = /** @type {Record<string, number>} */ (Object.fromEntries(ORDER.map((verdict) => [verdict, 0])));
  for (const row of rows) counts[row.verdict] += 1;
  return counts;
}

/**
 * Wilson's interval of a share with a confidence of 95 %, as the analysis has it.
 * @param {number} hits @param {number} of @returns {[number, number]}
 */
function wilson(hits, of) {
  const z = 1.959963984540054;
  const rate = hits / of;
  const spread = z * Math.sqrt((rate * (1 - rate)) / of + (z * z) / (4 * of * of));
  const [middle, scale] = [rate + (z * z) / (2 * of), 1 + (z * z) / of];
  return [hits ? Math.max(0, (middle - spread) / scale) : 0, hits === of ? 1 : Math.min(1, (middle + spread) / scale)];
}

/** The values of a facet with their rows, the most frequent first. @param {string} facet @param {Row[]} rows */
function groups(facet, rows) {
  /** @type {Map<string, Row[]>} */
  const found = new Map();
  for (const row of rows)
    for (const value of FACETS[facet].of(row)) {
      const known = found.get(value);
      if (known) known.push(row);
      else found.set(value, [row]);
    }
  return [...found].sort((a, b) => b[1].length - a[1].length || (a[0] < b[0] ? -1 : 1));
}
