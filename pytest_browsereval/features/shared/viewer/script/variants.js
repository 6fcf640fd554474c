// Tasks and variants: a line for each task, a column for each variant.

const TASKS_AT_FIRST = 10;
const TASKS_MORE = 200;

/** @typedef {Map<string, Row[]>} Cells the rows of a task, or of all, by variant */

/** Draws the verdicts of what is chosen, whichever verdict that is. @param {Row[]} rows */
function drawVariants(rows) {
  const all = choice.kind ? chosenRows({ kind: true }) : rows;
  const cells = rowsBy(all, "variant");
  const known = [...DATA.run.variants.filter((/** @type {string} */ name) => cells.has(name)), ...cells.keys()];
  const variants = [...new Set(known)];
  $("by-variant").hidden = variants.length < 2;
  if (variants.length < 2) return;
  const worst = (/** @type {Row[]} */ own) => Math.min(...own.map((row) => ORDER.indexOf(row.verdict)));
  const tasks = [...rowsBy(all, "id")].map(([id, own]) => ({ id, place: worst(own), cells: rowsBy(own, "variant") }));
  tasks.sort((a, b) => a.place - b.place);
  const title = (/** @type {string} */ text, /** @type {string} */ scope) => element("th", { scope }, element("bdi", { textContent: text }));
  const body = element("tbody");
  const more = element("button", { type: "button" });
  const add = (/** @type {number} */ count) => {
    const next = tasks.slice(body.childElementCount, body.childElementCount + count);
    body.append(...next.map((task) => element("tr", {}, title(task.id, "row"), ...variants.map((name) => variantCell(task.cells.get(name) || [])))));
    const rest = tasks.length - body.childElementCount;
    more.hidden = !rest;
    more.textContent = `Show ${counted(Math.min(rest, TASKS_MORE), "more task")}`;
  };
  more.onclick = () => add(TASKS_MORE);
  add(TASKS_AT_FIRST);
  const head = element("thead", {}, element("tr", {}, ...["Task", ...variants].map((name) => title(name, "col"))));
  const foot = element("tfoot", {}, ...variantFigures(variants.map((name) => (cells.get(name) || []).filter((row) => !row.derived))));
  $("by-variant-table").replaceChildren(head, body, foot);
  $("by-variant-more").replaceChildren(more);
}

/** @param {Row[]} rows @param {"id" | "variant"} key @returns {Cells} */
function rowsBy(rows, key) {
  /** @type {Cells} */
  const found = new Map();
  for (const row of rows) {
    const own = found.get(row[key]);
    if (own) own.push(row);
    else found.set(row[key], [row]);
  }
  return found;
}

/** A cell leads to its trial, of several ones to the one to look at first. @param {Row[]} rows */
function variantCell(rows) {
  if (!rows.length) return element("td", { className: "none", textContent: "not run" });
  const [first] = [...rows].sort((a, b) => ORDER.indexOf(a.verdict) - ORDER.indexOf(b.verdict));
  const mark = element("span", { className: "mark", ariaHidden: "true", textContent: MARKS[first.verdict] });
  const link = element("a", { href: addressOf(first), title: brief(first.reason, 300) }, mark, ` ${rows.length > 1 ? shareOf(rows) : first.verdict}`);
  return element("td", { "data-verdict": first.verdict }, link);
}

/** How many judged trials passed, and how many others there are: "2/3", "1/2, 1 errored". @param {Row[]} rows */
function shareOf(rows) {
  const counts = tally(rows);
  const judged = counts.passed + counts.failed;
  const others = ["errored", "unfinished", "damaged"].filter((kind) => counts[kind]).map((kind) => `${counts[kind]} ${kind}`);
  return [...(judged ? [`${counts.passed}/${judged}`] : []), ...others].join(", ");
}

/** The lines below the tasks. @param {Row[][]} all the rows of each variant */
function variantFigures(all) {
  const known = (/** @type {Row[]} */ rows, /** @type {"steps" | "ms"} */ key) => rows.filter((row) => row[key] !== null).map((row) => Number(row[key]));
  const mean = (/** @type {number[]} */ values) => values.reduce((sum, one) => sum + one, 0) / values.length;
  const spent = (/** @type {Row[]} */ rows) => (rows.some((row) => row.cost === null) ? "unknown" : money(rows.reduce((sum, row) => sum + Number(row.cost), 0)));
  /** @type {[string, (rows: Row[]) => string][]} */
  const figures = [["Passed", shareOf], ["Mean steps", (rows) => mean(known(rows, "steps")).toFixed(1)], ["Mean time", (rows) => time(mean(known(rows, "ms")))]];
  if (all.some((rows) => rows.some((row) => row.cost !== 0))) figures.push(["Cost", spent]);
  return figures.map(([name, show]) => element("tr", {}, element("th", { scope: "row", textContent: name }), ...all.map((rows) => element("td", { textContent: known(rows, "ms").length ? show(rows) : "–" }))));
}
