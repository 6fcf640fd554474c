// The list of the comparison page: a row for each task in either run, as the analysis has paired them.

/**
 * @typedef {"a" | "b"} Side
 * @typedef {{state: string, label: string, variant: string, trials: Row[]}} Half what a run has of a task; the state is that of all its trials
 * @typedef {{place: number, id: string, variant: string, change: string, reason: string, a: Half | null, b: Half | null,
 *   steps: Measured, ms: Measured, cost: Measured, text: string}} Pair
 * @typedef {[number | null, number | null, number | null]} Measured of A, of B, and the difference
 */

const WRITTEN_BY = "browsereval compare A B --html FILE";
const SIDES = /** @type {Side[]} */ (["a", "b"]);
Object.assign(MARKS, { lost: "−", "newly errored": "!", "only in A": "‹", "row edited": "~", gained: "+", "no longer errored": "*", "only in B": "›", "errored in both": "‼", unchanged: "=", mixed: "±" });

/** The trials of each run, by their tasks. @type {Record<Side, Map<string, Row[]>>} */
const TRIALS_OF = { a: trialsOf("a"), b: trialsOf("b") };

/** @param {Side} side */
function trialsOf(side) {
  const { run, table } = DATA.sides[side];
  if (!table) return new Map(); // a baseline's file has no attempts
  return byTask(readRows({ run: { ...run, side }, ...table }).filter((row) => row.tries));
}

/** @type {Pair[]} */
const LIST = DATA.pairs.map((/** @type {any[]} */ [id, variant, change, reason, a, b, steps, ms, cost], /** @type {number} */ place) => {
  const half = (/** @type {Side} */ side, /** @type {any[] | null} */ given) =>
    given && { variant: given[0], state: given[1], label: given[2], trials: TRIALS_OF[side].get(taskOf(id, given[0])) || [] };
  return { place, id, variant, change: DATA.changes[change], reason, a: half("a", a), b: half("b", b), steps, ms, cost, text: "" };
});
const BY_NAME = new Map(LIST.map((pair) => [taskOf(pair.id, pair.variant), pair]));

const KIND = {
  name: "change",
  all: DATA.changes,
  of: (/** @type {Pair} */ pair) => pair.change,
  isOpen: (/** @type {Pair} */ pair) => pair.change !== "unchanged" && pair.change !== "errored in both",
  nothing: "No task matches.",
};

/** A trial of a pair, for what both have in common. @param {Pair} pair */
const oneOf = (pair) => pair.b?.trials[0] || pair.a?.trials[0];

/** @type {Record<string, Facet>} */
const FACETS = {
  a: { title: "In A", of: (pair) => [pair.a?.state || ""] },
  b: { title: "In B", of: (pair) => [pair.b?.state || ""] },
  site: { title: "Site", of: (pair) => [oneOf(pair)?.site || ""] },
  dataset: { title: "Dataset", of: (pair) => [oneOf(pair)?.dataset || ""] },
  tag: { title: "Tag", of: (pair) => oneOf(pair)?.tags || [] },
  variant: { title: "Variant", of: (pair) => [pair.variant] },
  source: { title: "Error source in B", of: (pair) => [pair.b?.trials.find((/** @type {Row} */ row) => row.source)?.source || ""] },
};

/** @type {Record<string, Sort>} */
const SORTS = {
  change: { title: "Change", of: (pair) => KIND.all.indexOf(pair.change) },
  id: { title: "Task", of: (pair) => pair.id },
  variant: { title: "Variant", of: (pair) => pair.variant },
  a: { title: "A", of: (pair) => pair.a?.label ?? null },
  b: { title: "B", of: (pair) => pair.b?.label ?? null },
  steps: { title: "Steps", of: (pair) => pair.steps[2], isDown: true },
  ms: { title: "Time", of: (pair) => pair.ms[2], isDown: true },
  cost: { title: "Cost", of: (pair) => pair.cost[2], isDown: true },
};

/** The attempts of both sides. @param {Pair} pair @returns {Row[]} */
const attemptsOf = (pair) => [...(pair.a?.trials || []), ...(pair.b?.trials || [])];

/** @param {Pair} pair */
function wordsOf(pair) {
  const rows = attemptsOf(pair);
  return [pair.id, pair.variant, pair.reason, ...rows.flatMap((row) => [row.query, row.reason, row.site, row.source, ...row.tags])];
}

/** @param {number} value */
const plain = (value) => value.toFixed(1).replace(/\.0$/, "");

/** A difference with both values as its tip. @param {Measured} measured @param {(value: number) => string} show */
function difference([a, b, change], show) {
  if (change === null) return element("span", { className: "soft", textContent: "–" });
  const sign = change > 0 ? "+" : change < 0 ? "−" : "±";
  return element("span", { textContent: sign + show(Math.abs(change)), title: `${show(Number(a))} → ${show(Number(b))}` });
}

/** @param {Half | null} half */
const halfBadge = (half) => (half ? badge(half.state, "verdict", half.state === "errored" ? "errored" : half.label) : element("span", { className: "soft", textContent: "–" }));

/** @type {Column[]} */
const COLUMNS = [
  { name: "change", title: "Change", is: () => true, cell: (pair) => badge(pair.change, "change") },
  { name: "id", title: "Task", is: () => true, cell: taskCell, tip: (pair) => `${pair.id}\n${oneOf(pair)?.query || ""}` },
  { name: "variant", title: "Variant", kind: "wide", is: () => many("variant"), cell: (pair) => pair.variant, tip: (pair) => pair.variant },
  { name: "a", title: "A", kind: "half", is: () => true, cell: (pair) => halfBadge(pair.a), tip: (pair) => pair.a?.label || "no result" },
  { name: "b", title: "B", kind: "half", is: () => true, cell: (pair) => halfBadge(pair.b), tip: (pair) => pair.b?.label || "no result" },
  { name: "steps", title: "Steps", kind: "wide number", is: () => true, cell: (pair) => difference(pair.steps, plain) },
  { name: "ms", title: "Time", kind: "wide number", is: () => true, cell: (pair) => difference(pair.ms, time) },
  { name: "cost", title: "Cost", kind: "wide number", is: () => LIST.some((pair) => pair.cost[0] || pair.cost[1]), cell: (pair) => difference(pair.cost, money) },
  { name: "reason", title: "Reason", kind: "wide", is: () => true, cell: reasonCell, tip: (pair) => pair.reason },
];

/** @param {Pair} pair */
function taskCell(pair) {
  const link = element("a", { href: addressOf(pair), "data-place": pair.place }, element("bdi", { textContent: pair.id }));
  return element("span", {}, link, element("span", { className: "soft query", textContent: ` ${oneOf(pair)?.query || ""}` }));
}

/** @param {Pair} pair @param {number} [trial] @param {Side} [side] @param {string} [entry] */
function addressOf(pair, trial = 0, side = "b", entry = "") {
  const parts = [pair.id, pair.variant, ...(trial ? [`trial-${trial}`] : []), ...(entry ? [side, entry] : [])];
  return `#/${parts.map(encodeURIComponent).join("/")}`;
}
