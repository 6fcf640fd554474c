// The list of the run page: a row for each trial.

const WRITTEN_BY = "browsereval view RUN";
const ROWS = readRows(DATA);
/** Attempts that errored and were made again are reached from the last one. */
let LIST = ROWS.filter((row) => row.tries);
const BY_KEY = new Map(ROWS.map((row) => [row.key, row]));
let BY_TASK = byTask(LIST);

/** What trials of a task say of each other, as the analysis has it. @typedef {{stability: string, passed: number, failed: number, errored: number, at: number | null, hat: number | null}} TaskRepeats */
/** @returns {Map<string, TaskRepeats>} */
const readRepeats = () => new Map(
  (DATA.repeats?.each || []).map((/** @type {any[]} */ [id, variant, stability, passed, failed, errored, at, hat]) => [taskOf(id, variant), { stability, passed, failed, errored, at, hat }]),
);
let REPEATS = readRepeats();

/** @param {Row} row */
const repeatsOf = (row) => REPEATS.get(taskOf(row.id, row.variant));

/** The day of a row, or of the one that its attack is on. @param {Record<string, string>} days @param {Row} row @returns {string} */
function dayOf(days, row) {
  const base = row.derived ? row.id.slice(0, -`.under.${row.derived}`.length) : row.id;
  const id = [row.id, base].find((one) => Object.hasOwn(days, one));
  return id === undefined ? "" : days[id];
}

/** Until when a task is left out of the gate's rates. @param {Row} row @returns {string} */
const quarantineOf = (row) => dayOf(DATA.quarantine.now, row);

/** Rules of the gate by the ids of the rows that decided them. @type {Map<string, string[]>} */
const RULES = new Map();
for (const [name, , , , tasks = []] of DATA.gate || []) for (const id of tasks) RULES.set(id, [...(RULES.get(id) || []), name]);

const KIND = {
  name: "verdict",
  all: PARTS,
  of: (/** @type {Row} */ row) => row.verdict,
  isOpen: (/** @type {Row} */ row) => row.verdict !== "passed",
  nothing: "No trial matches.",
};

/** What rows can be chosen by. @type {Record<string, Facet>} */
const FACETS = {
  site: { title: "Site", of: (row) => [row.site] },
  dataset: { title: "Dataset", of: (row) => [row.dataset] },
  tag: { title: "Tag", of: (row) => row.tags },
  variant: { title: "Variant", of: (row) => [row.variant] },
  trial: { title: "Trial", of: (row) => [String(row.trial)] },
  repeats: { title: "Repeats", of: (row) => [repeatsOf(row)?.stability || ""] },
  quarantine: { title: "Quarantine", of: (row) => [quarantineOf(row) && `until ${quarantineOf(row)}`] },
  attack: { title: "Attack", of: (row) => [row.derived] },
  channel: { title: "Channel", of: (row) => [row.channel] },
  outcome: { title: "Under attack", of: (row) => [row.outcome] },
  cause: { title: "Cause", of: (row) => [row.cause] },
  rule: { title: "Gate rule", of: (row) => RULES.get(row.id) || [""] },
  source: { title: "Error source", of: (row) => [row.source] },
  end: { title: "Ended by", of: (row) => [row.end] },
};

/** @type {Record<string, Sort>} */
const SORTS = {
  verdict: { title: "Verdict", of: (row) => ORDER.indexOf(row.verdict) },
  id: { title: "Task", of: (row) => row.id },
  site: { title: "Site", of: (row) => row.site },
  variant: { title: "Variant", of: (row) => row.variant },
  trial: { title: "Trial", of: (row) => row.trial },
  attack: { title: "Attack", of: (row) => row.derived },
  progress: { title: "Progress", of: (row) => row.progress?.[0] ?? null, isDown: true },
  steps: { title: "Steps", of: (row) => row.steps, isDown: true },
  ms: { title: "Time", of: (row) => row.ms, isDown: true },
  cost: { title: "Cost", of: (row) => row.cost, isDown: true },
};

/** The attempts of what is listed. @param {Row} row */
const attemptsOf = (row) => [row];

/** @param {Row} row */
const wordsOf = (row) => [row.id, row.query, row.reason, row.site, row.dataset, row.variant, row.source, row.derived, row.outcome, ...row.tags];

/** Columns, and when they are shown. @type {Column[]} */
const COLUMNS = [
  { name: "verdict", title: "Verdict", is: () => true, cell: (row) => badge(row.verdict) },
  { name: "id", title: "Task", is: () => true, cell: taskCell, tip: (row) => `${row.id}\n${row.query}` },
  { name: "site", title: "Site", kind: "wide", is: () => many("site"), cell: (row) => row.site, tip: (row) => row.site },
  { name: "variant", title: "Variant", kind: "wide", is: () => many("variant"), cell: (row) => row.variant, tip: (row) => row.variant },
  { name: "trial", title: "Trial", kind: "wide number", is: () => many("trial"), cell: (row) => String(row.trial) },
  { name: "attack", title: "Attack", kind: "wide", is: () => many("attack"), cell: attackCell, tip: (row) => row.derived && `${row.derived}: ${row.outcome}` },
  { name: "progress", title: "Progress", kind: "wide", is: () => LIST.some((row) => row.progress), cell: (row) => element("bdi", { textContent: progressOf(row) }), tip: progressOf },
  { name: "steps", title: "Steps", kind: "number", is: () => true, cell: (row) => (row.steps === null ? "–" : String(row.steps)) },
  { name: "ms", title: "Time", kind: "number", is: () => true, cell: (row) => time(row.ms) },
  { name: "cost", title: "Cost", kind: "wide number", is: () => LIST.some((row) => row.cost), cell: (row) => money(row.cost) },
  { name: "reason", title: "Reason", kind: "wide", is: () => true, cell: reasonCell, tip: (row) => row.reason },
];

/** @param {Row} row */
function taskCell(row) {
  const more = [];
  if (row.tries > 1) more.push(`${row.tries} attempts`);
  if (!row.started && row.attempt > 1) more.push(`attempt ${row.attempt}`);
  if (quarantineOf(row)) more.push(`quarantined until ${quarantineOf(row)}`);
  const flaky = repeatsOf(row)?.stability || "";
  if (flaky.startsWith("flaky")) more.push(flaky);
  const link = element("a", { href: addressOf(row), "data-place": row.place }, element("bdi", { textContent: row.id }));
  return element("span", {}, link, more.length ? element("span", { className: "soft", textContent: ` ${more.join(", ")}` }) : null, element("span", { className: "soft query", textContent: ` ${row.query}` }));
}

/** @param {Row} row */
function attackCell(row) {
  return row.derived && element("span", {}, row.outcome === "resisted" ? null : attackBadge(row.outcome), " ", element("bdi", { textContent: row.derived }));
}

/** @param {Row} row @param {string} [entry] */
const addressOf = (row, entry) => `#/${[...row.key.split("/"), ...(entry ? [entry] : [])].map(encodeURIComponent).join("/")}`;

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
