// The page of a task in both runs: its attempts side by side.

/**
 * One of the two attempts, and where it is drawn.
 * @typedef {{side: Side, box: any, detail: any, list: any, row: Row | null, details: Details | null, entries: Entry[], place: number}} Pane
 */

/** @type {{pair: Pair | null, trial: number, side: Side, reads: number, wanted: [Side, string]}} */
const seen = { pair: null, trial: 0, side: "b", reads: 0, wanted: ["b", ""] };

/** @type {Record<Side, Pane>} */
const panes = /** @type {any} */ ({});

function buildPanes() {
  for (const side of SIDES) {
    const box = $(`pane-${side}`);
    panes[side] = { side, box, detail: element("div", { className: "detail" }), list: element("ol", { className: "entries" }), row: null, details: null, entries: [], place: -1 };
    box.addEventListener("focusin", () => activate(side));
  }
}

/** @param {Side} side */
function activate(side) {
  seen.side = side;
  for (const one of SIDES) panes[one].box.toggleAttribute("data-active", one === side);
  SIDES.forEach((one, place) => $("tabs").children[place]?.setAttribute("aria-pressed", String(one === side)));
}

/** @param {Side} side @returns {Side} */
const other = (side) => (side === "a" ? "b" : "a");

/** The numbers of trials that either run has. @param {Pair} pair */
const trialNumbers = (pair) => [...new Set([pair.a, pair.b].flatMap((half) => (half?.trials || []).map((row) => row.trial)))].sort((a, b) => a - b);

/** @param {string[]} names of the address */
function openItem([id = "", variant = "", ...rest]) {
  const pair = BY_NAME.get(taskOf(id, variant));
  if (!pair) {
    seen.pair = null;
    return gone(`Neither run has a task ${id} of the variant ${variant || "(none)"}.`);
  }
  const trials = trialNumbers(pair);
  const asked = Number((/^trial-(\d+)$/.exec(rest[0] || "") || [])[1]);
  if (asked) rest.shift();
  const [side, entry] = rest;
  if (seen.pair !== pair) scrollTo(0, 0);
  showPair(pair, trials.includes(asked) ? asked : trials[0] || 0, side === "a" ? "a" : "b", entry || "");
}

/** Leaves what is open, and returns it. */
function leaveItem() {
  const { pair } = seen;
  seen.pair = null;
  return pair;
}

/** @param {Pair} pair @param {number} trial @param {Side} side @param {string} entry the name of one in its timeline */
async function showPair(pair, trial, side, entry) {
  seen.wanted = [side, entry];
  if (seen.pair !== pair || seen.trial !== trial) {
    Object.assign(seen, { pair, trial, reads: seen.reads + 1 });
    $("attempt").ariaBusy = "true";
    drawPair(pair, trial);
    const reading = seen.reads;
    await Promise.all(SIDES.map((one) => fillPane(panes[one], reading)));
    if (seen.reads !== reading) return;
    drawParting();
  } else if ($("attempt").ariaBusy === "true") return; // once it is read, what is wanted is opened
  activate(seen.wanted[0]);
  openFirst(...seen.wanted);
  $("attempt").ariaBusy = "false";
}

/** @param {Side} side @param {string} entry */
function openFirst(side, entry) {
  const { entries } = panes[side];
  const named = entry ? entries.findIndex((one) => one.name === entry) : -1;
  if (entry && named < 0) tell(`This attempt has no ${entry.replace("-", " ")}.`);
  if (named >= 0) return openIn(panes[side], named, true);
  const number = parting();
  for (const one of SIDES) {
    const at = number === null ? -1 : placeOfStep(panes[one], number);
    openEntry(panes[one], at >= 0 ? at : panes[one].entries.length - 1);
  }
}

/** @param {Pair} pair @param {number} trial */
function drawPair(pair, trial) {
  tell("");
  document.title = `${pair.id} · ${pair.change}`;
  $("attempt-name").textContent = pair.id + (many("variant") ? ` (${pair.variant})` : "");
  $("attempt-change").replaceChildren(badge(pair.change, "change"));
  given($("query"), oneOf(pair)?.query || "", "The task’s text is not in these runs.");
  const trials = trialNumbers(pair);
  const buttons = trials.map((number) => {
    const verdicts = SIDES.map((side) => trialOf(pair, side, number)?.verdict || "none").join(" → ");
    return element("button", { type: "button", ariaPressed: String(number === trial), textContent: `Trial ${number}: ${verdicts}`, onclick: () => goToTrial(number) });
  });
  $("trials").replaceChildren(...(trials.length > 1 ? buttons : []));
  $("parting").textContent = "…";
  for (const side of SIDES) drawPane(panes[side], pair, trialOf(pair, side, trial));
  $("tabs").replaceChildren(...SIDES.map((side) => tabOf(side, trialOf(pair, side, trial))));
  drawTurns(pair);
}

/** Where the window is narrow, one side is shown, and a tab leads to the other. @param {Side} side @param {Row | null} row */
function tabOf(side, row) {
  const name = element("span", { textContent: `${side.toUpperCase()}${side === "a" ? " (baseline) " : " "}` });
  return element("button", { type: "button", ariaPressed: String(side === seen.side), onclick: () => side !== seen.side && swap() }, name, row ? badge(row.verdict) : null);
}

/** @param {Pair} pair @param {Side} side @param {number} trial */
const trialOf = (pair, side, trial) => pair[side]?.trials.find((row) => row.trial === trial) || null;

/** @param {number} trial */
function goToTrial(trial) {
  if (!seen.pair) return;
  history.replaceState(null, "", addressOf(seen.pair, trial));
  showPair(seen.pair, trial, seen.side, "");
}

// -- one side

/** @param {Pane} pane @param {Pair} pair @param {Row | null} row */
function drawPane(pane, pair, row) {
  Object.assign(pane, { row, details: null, entries: [], place: -1 });
  const { run } = DATA.sides[pane.side];
  const title = element("h3", { className: "title" }, element("span", { textContent: `${pane.side.toUpperCase()}${pane.side === "a" ? " (baseline)" : ""}` }), element("bdi", { className: "soft", textContent: run.name }));
  const half = pair[pane.side];
  const why = !half ? "This run has no result for the task." : "This is a baseline file: it has the result, but no attempt to look at.";
  if (!row) pane.box.replaceChildren(title, element("p", {}, half ? halfBadge(half) : null), element("p", { className: "none", textContent: why }));
  else pane.box.replaceChildren(title, element("p", {}, badge(row.verdict), " ", ownPage(row)), element("p", { className: "none", textContent: "…" }));
}

/** The attempt in its run's page. @param {Row} row */
function ownPage(row) {
  if (!row.run.page) return null;
  return element("a", { href: `${addressOfPath(row.run.page)}#/${row.key.split("/").map(encodeURIComponent).join("/")}`, textContent: "Open run report" });
}

/** @param {Pane} pane @param {number} reading which one it is: another pair may be asked for meanwhile */
async function fillPane(pane, reading) {
  const { row, box } = pane;
  if (!row) return;
  try {
    const details = await detailsOf(row);
    if (seen.reads !== reading) return;
    pane.details = details;
    pane.entries = entriesOf(details);
    drawFilled(pane, row, details);
  } catch (error) {
    if (seen.reads !== reading) return;
    box.lastElementChild.replaceWith(element("p", { className: "wrong", textContent: error instanceof Error ? error.message : String(error) }));
  }
}

/** @param {Pane} pane @param {Row} row @param {Details} details */
function drawFilled(pane, row, details) {
  const data = details.metadata;
  const texts = ["reason", "answer"].map((name) => element("p", { className: `given ${name}` }));
  given(texts[0], asText(data.reason) || details.problem || row.reason, "");
  given(texts[1], asText(data.final_answer ?? ""), "No answer was given.");
  const findings = element("ul", { className: "findings" });
  drawFindings(findings, details);
  const grades = gradeParts(row, details);
  for (const grade of grades) if (grade.open) grade.open = false; // the timelines are to be seen next to each other
  const facts = element("dl");
  fill(facts, [...factsOf(row, details), ["Files", filesOf(row, details)]]);
  pane.list.replaceChildren(...pane.entries.map((entry, place) => entryLine(entry, () => openIn(pane, place, true))));
  const timeline = pane.entries.length ? pane.list : element("p", { className: "none", textContent: "Nothing is recorded." });
  const records = recordParts(row, details, pane.entries, (place) => openIn(pane, place, true));
  pane.box.lastElementChild.replaceWith(
    element("div", {}, texts[0], findings),
    element("div", {}, element("h4", { textContent: "Answer" }), texts[1]),
    element("div", {}, element("h4", { textContent: "Grades" }), ...grades),
    element("div", {}, element("h4", { textContent: "Timeline" }), timeline, records.length ? element("div", { className: "records" }, ...records) : null),
    element("div", {}, facts),
  );
}

/** @param {Pane} pane @param {number} place */
function openEntry(pane, place) {
  const { row, details, entries, list, detail } = pane;
  if (!row || !details || !entries[place]) return;
  const lines = list.children;
  lines[pane.place]?.querySelector("button").removeAttribute("aria-current");
  pane.place = place;
  lines[place].querySelector("button").setAttribute("aria-current", "step");
  detail.replaceChildren(entryBody(row, entries[place], details));
  lines[place].append(detail);
}

/** Keeps what is open on a side in the address. @param {Pane} pane */
function tellPlace({ side, entries, place }) {
  const { pair, trial } = seen;
  if (pair && entries[place]) history.replaceState(null, "", addressOf(pair, trialNumbers(pair).length > 1 ? trial : 0, side, entries[place].name));
}

/** Opens an entry, and the step with its number on the other side. @param {Pane} pane @param {number} place @param {boolean} follows */
function openIn(pane, place, follows) {
  const entry = pane.entries[place];
  if (!entry) return;
  activate(pane.side);
  openEntry(pane, place);
  tellPlace(pane);
  const opposite = panes[other(pane.side)];
  if ($("together").checked && entry.number !== null) openEntry(opposite, placeOfStep(opposite, entry.number));
  if (follows) pane.list.children[place].scrollIntoView({ block: "nearest" });
}

/** The step of a number, or the last one before it. @param {Pane} pane @param {number} number */
const placeOfStep = (pane, number) => pane.entries.findLastIndex((entry) => entry.number !== null && entry.number <= number);

function drawTogether() {
  const pane = panes[seen.side];
  if (pane.place >= 0) openIn(pane, pane.place, false);
}

/** @param {number} by */
function moveStep(by) {
  const pane = panes[seen.side];
  openIn(pane, Math.max(0, Math.min(pane.place + by, pane.entries.length - 1)), true);
}

/** @param {boolean} isBefore */
function turnPicture(isBefore) {
  const focused = SIDES.find((side) => panes[side].detail.querySelector(".turns")?.contains(document.activeElement));
  showsBefore = isBefore;
  for (const side of SIDES) openEntry(panes[side], panes[side].place);
  if (focused) panes[focused].detail.querySelector(`.turns [aria-pressed="true"]`)?.focus();
}

// -- where the two part

/** The first step in which the calls are not the same; null if there is none. @returns {number | null} */
function parting() {
  const [a, b] = SIDES.map((side) => panes[side].entries.filter((entry) => entry.number !== null).map((entry) => JSON.stringify([entry.message.tool, entry.message.params])));
  if (!a.length || !b.length) return null;
  const place = a.findIndex((call, step) => call !== b[step]);
  return place >= 0 ? place + 1 : a.length < b.length ? a.length + 1 : null;
}

function drawParting() {
  const [a, b] = SIDES.map((side) => panes[side].entries.filter((entry) => entry.number !== null).length);
  const number = parting();
  const alike = number === null ? Math.min(a, b) : number - 1;
  const same = alike === 1 ? "The first call is the same" : `The first ${alike.toLocaleString("en")} calls are the same`;
  $("parting").textContent = !a || !b ? "" : number === null ? "All calls are the same." : alike ? `${same}; they diverge at step ${number}.` : "They diverge at the first step.";
}

/** @type {Record<string, () => void>} */
const ITEM_KEYS = {
  ArrowUp: () => moveStep(-1),
  ArrowDown: () => moveStep(1),
  Home: () => openIn(panes[seen.side], 0, true),
  End: () => openIn(panes[seen.side], panes[seen.side].entries.length - 1, true),
  ArrowLeft: () => turn(seen.pair, -1),
  ArrowRight: () => turn(seen.pair, 1),
  f: () => turn(seen.pair, 1, true),
  F: () => turn(seen.pair, -1, true),
  b: () => turnPicture(!showsBefore),
  x: () => swap(),
  t: () => nextTrial(),
  s: () => $("together").click(),
};

function swap() {
  const pane = panes[other(seen.side)];
  activate(pane.side);
  if (pane.place < 0) return;
  tellPlace(pane);
  pane.list.children[pane.place].scrollIntoView({ block: "nearest" });
}

function nextTrial() {
  const trials = seen.pair ? trialNumbers(seen.pair) : [];
  if (trials.length > 1) goToTrial(trials[(trials.indexOf(seen.trial) + 1) % trials.length]);
}

const itemRow = () => seen.pair;
const onNarrow = () => {};
