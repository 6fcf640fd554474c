// All runs, the newest first, and what they can be chosen and sorted by.

/**
 * @typedef {{passed: number, failed: number, errored: number, tasks: number, rate: number | null, low: number | null, high: number | null,
 *   cost: number | null, steps: number | null, ms: number | null}} Figures
 * @typedef {Figures & {name: string, agent: string, broken: [number | null, string[]] | null}} Variant
 * @typedef {{place: number, id: string, name: string, eval: string, started: Date, state: string, note: string, commit: string,
 *   gate: boolean | null, missed: string[], page: string, whole: Figures, variants: Variant[], outcome: string, text: string}} Run
 */

/** A run has no texts besides the table. */
const [isInTexts, isSearching, searchTexts, tellSearched] = [() => false, () => false, () => {}, () => {}];

const OUTCOMES = ["not met", "met", "no gate", "partial", "merged", "unfinished", "damaged"];
Object.assign(MARKS, { "not met": "✗", met: "✓", "no gate": "•", partial: "◐", merged: "Σ", unfinished: "…", damaged: "‽" });

/** @param {any[]} given @returns {Figures} */
function figuresOf([passed, failed, errored, tasks, rate, low, high, cost, steps, ms]) {
  return { passed, failed, errored, tasks, rate, low, high, cost, steps, ms };
}

/** @param {string} state @param {boolean | null} gate */
const outcomeOf = (state, gate) => (state !== "complete" ? state : gate === null ? "no gate" : gate ? "met" : "not met");

/** @type {Run[]} */
const LIST = DATA.runs.map((/** @type {any[]} */ [id, name, started, state, note, commit, gate, missed, page, whole, variants], /** @type {number} */ place) => {
  return {
    place,
    id,
    name: id.slice(id.lastIndexOf("/") + 1),
    eval: name,
    started: new Date(started),
    state,
    note,
    commit,
    gate,
    missed,
    page: page ? `${id}/index.html` : "",
    whole: figuresOf(whole),
    variants: variants.map((/** @type {any[]} */ one) => ({ name: one[0], agent: one[1], ...figuresOf(one.slice(2, 12)), broken: one[12] })),
    outcome: outcomeOf(state, gate),
    text: "",
  };
});
const BY_ID = new Map(LIST.map((run) => [run.id, run]));

const KIND = {
  name: "outcome",
  all: OUTCOMES,
  of: (/** @type {Run} */ run) => run.outcome,
  isOpen: (/** @type {Run} */ run) => run.outcome === "not met",
  nothing: "No run matches.",
};

/** @type {Record<string, Facet>} */
const FACETS = {
  eval: { title: "Eval", of: (run) => [run.eval] },
  variant: { title: "Variant", of: (run) => run.variants.map((/** @type {Variant} */ one) => one.name) },
  agent: { title: "Agent", of: (run) => run.variants.map((/** @type {Variant} */ one) => one.agent) },
  state: { title: "State", of: (run) => [run.state] },
};

/** @type {Record<string, Sort>} */
const SORTS = {
  outcome: { title: "Newest first", of: (run) => run.place },
  started: { title: "Started", of: (run) => -run.place },
  eval: { title: "Eval", of: (run) => run.eval },
  agent: { title: "Agent", of: (run) => agentsOf(run) },
  rate: { title: "Pass rate", of: (run) => run.whole.rate },
  errored: { title: "Errored", of: (run) => run.whole.errored, isDown: true },
  cost: { title: "Cost", of: (run) => run.whole.cost, isDown: true },
  steps: { title: "Steps, p95", of: (run) => run.whole.steps, isDown: true },
  ms: { title: "Time, p95", of: (run) => run.whole.ms, isDown: true },
  commit: { title: "Commit", of: (run) => run.commit },
};

/** @param {Run} run */
const agentsOf = (run) => run.variants.map((one) => (one.name === "default" ? one.agent : `${one.name}: ${one.agent}`)).join(", ");

/** @param {Run} run */
const wordsOf = (run) => [run.id, run.eval, moment(run.started), run.commit, run.outcome, run.note, agentsOf(run), ...run.missed];

const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/** @param {number} number */
const two = (number) => String(number).padStart(2, "0");

/** A day in UTC, as all times here. @param {Date} at */
const day = (at) => `${at.getUTCDate()} ${MONTHS[at.getUTCMonth()]} ${at.getUTCFullYear()}`;

/** @param {Date} at */
const clock = (at) => `${two(at.getUTCHours())}:${two(at.getUTCMinutes())}`;

/** @param {Date} at */
const moment = (at) => `${day(at)}, ${clock(at)}`;

/** @param {Figures} figures */
const rateText = (figures) => (figures.rate === null ? "–" : `${percent(figures.rate)} (${percent(figures.low).replace(/\s*%$/, "")} to ${percent(figures.high)})`);

/** @param {Figures} figures */
const costText = (figures) => (figures.cost === null ? "unknown" : money(figures.cost));

/** @param {number | null} steps */
const stepsText = (steps) => (steps === null ? "–" : steps.toFixed(1).replace(/\.0$/, ""));

/** @param {Run} run */
const hasFigures = (run) => run.state !== "unfinished" && run.state !== "damaged";

/** @type {Column[]} */
const COLUMNS = [
  { name: "started", title: "Started (UTC)", is: () => true, cell: startedCell, tip: (run) => run.id },
  { name: "gate", title: "Gate", is: () => true, cell: (run) => badge(run.outcome, "outcome"), tip: (run) => [run.note, ...run.missed].filter(Boolean).join(", ") || run.outcome },
  { name: "eval", title: "Eval", kind: "wide", is: () => many("eval"), cell: (run) => element("bdi", { textContent: run.eval }), tip: (run) => run.eval },
  { name: "agent", title: "Agent", kind: "wide", is: () => true, cell: (run) => element("bdi", { textContent: agentsOf(run) }), tip: agentsOf },
  { name: "rate", title: "Pass rate", is: () => true, cell: (run) => (hasFigures(run) ? rateText(run.whole) : "–"), tip: (run) => `${run.whole.passed} of ${run.whole.passed + run.whole.failed} judged passed` },
  { name: "errored", title: "Errored", kind: "wide number", is: () => LIST.some((run) => run.whole.errored), cell: (run) => String(run.whole.errored || "") },
  { name: "cost", title: "Cost", kind: "wide number", is: () => LIST.some((run) => run.whole.cost), cell: (run) => (hasFigures(run) ? costText(run.whole) : "–") },
  { name: "steps", title: "Steps, p95", kind: "wide number", is: () => true, cell: (run) => stepsText(run.whole.steps) },
  { name: "ms", title: "Time, p95", kind: "wide number", is: () => true, cell: (run) => time(run.whole.ms) },
  { name: "commit", title: "Commit", kind: "wide", is: () => LIST.some((run) => run.commit), cell: (run) => element("bdi", { textContent: run.commit.slice(0, 7) || "–" }), tip: (run) => run.commit },
];

/** @param {Run} run */
function startedCell(run) {
  return element("a", { href: addressOf(run), "data-place": run.place, textContent: moment(run.started) });
}

/** @param {Run} run */
const addressOf = (run) => `#/${run.id.split("/").map(encodeURIComponent).join("/")}`;
