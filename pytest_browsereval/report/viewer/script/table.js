// The table of trials: only the rows near the window are in the page, however many there are.

const MARGIN = 12;
let drawnFrom = -1;
let drawnTo = -1;

/** Columns, and when they are shown. @type {{name: string, title: string, kind?: string, is: () => boolean, cell: (row: Row) => Child, tip?: (row: Row) => string}[]} */
const COLUMNS = [
  { name: "verdict", title: "Verdict", is: () => true, cell: (row) => badge(row.verdict) },
  { name: "id", title: "Task", is: () => true, cell: taskCell, tip: (row) => `${row.id}\n${row.query}` },
  { name: "site", title: "Site", kind: "wide", is: () => many("site"), cell: (row) => row.site, tip: (row) => row.site },
  { name: "variant", title: "Variant", kind: "wide", is: () => many("variant"), cell: (row) => row.variant, tip: (row) => row.variant },
  { name: "trial", title: "Trial", kind: "wide number", is: () => many("trial"), cell: (row) => String(row.trial) },
  { name: "steps", title: "Steps", kind: "number", is: () => true, cell: (row) => (row.steps === null ? "–" : String(row.steps)) },
  { name: "ms", title: "Time", kind: "number", is: () => true, cell: (row) => time(row.ms) },
  { name: "cost", title: "Cost", kind: "wide number", is: () => TRIALS.some((row) => row.cost), cell: (row) => money(row.cost) },
  { name: "reason", title: "Reason", kind: "wide", is: () => true, cell: (row) => element("bdi", { textContent: row.reason }), tip: (row) => row.reason },
];

/** @type {Record<string, boolean>} */
const severals = {};

/** Whether rows differ in a facet. @param {string} facet */
function many(facet) {
  severals[facet] ??= new Set(TRIALS.flatMap((row) => FACETS[facet].of(row))).size > 1;
  return severals[facet];
}

const columnsShown = () => COLUMNS.filter((column) => column.is() && !(narrow.matches && column.kind?.startsWith("wide")));

/** @param {Row} row */
function taskCell(row) {
  const more = [];
  if (row.tries > 1) more.push(`${row.tries} attempts`);
  if (!row.started && row.attempt > 1) more.push(`attempt ${row.attempt}`);
  const link = element("a", { href: addressOf(row), "data-place": row.place }, element("bdi", { textContent: row.id }));
  return element("span", {}, link, more.length ? element("span", { className: "soft", textContent: ` ${more.join(", ")}` }) : null, element("span", { className: "soft query", textContent: ` ${row.query}` }));
}

function drawHead() {
  const cells = columnsShown().map((column) => {
    const { name, title, kind = "" } = column;
    const cell = element("th", { scope: "col", className: `${kind} c-${name}` });
    if (!SORTS[name]) return assign(cell, { textContent: title }), cell;
    const isSorted = choice.sort === name;
    if (isSorted) cell.setAttribute("aria-sort", choice.isDown ? "descending" : "ascending");
    const arrow = element("span", { ariaHidden: "true", textContent: isSorted ? (choice.isDown ? " ↓" : " ↑") : "" });
    const button = element("button", { type: "button", onclick: () => sortBy(name) }, element("span", { className: "word", textContent: title }), arrow);
    cell.append(button);
    return cell;
  });
  $("head").replaceChildren(...cells);
}

/** Draws the rows near the window. @param {boolean} [anew] though the same ones are drawn */
function drawRows(anew = false) {
  if ($("run-view").hidden) return;
  const height = rowHeight();
  const top = -$("rows").getBoundingClientRect().top;
  const within = (/** @type {number} */ place) => Math.max(0, Math.min(place, shownRows.length));
  const [from, to] = [within(Math.floor(top / height)), within(Math.ceil((top + innerHeight) / height))];
  if (!anew && from >= drawnFrom && to <= drawnTo) return;
  [drawnFrom, drawnTo] = [within(from - MARGIN), within(to + MARGIN)];
  const focused = document.activeElement instanceof HTMLAnchorElement && document.activeElement.dataset.place;
  const columns = columnsShown();
  const body = $("rows");
  body.replaceChildren(
    spacer(drawnFrom * height, columns.length),
    ...shownRows.slice(drawnFrom, drawnTo).map((row, place) => rowLine(row, drawnFrom + place, columns)),
    spacer((shownRows.length - drawnTo) * height, columns.length),
  );
  if (focused) body.querySelector(`a[data-place="${focused}"]`)?.focus({ preventScroll: true });
}

const rowHeight = () => parseFloat(getComputedStyle($("table")).getPropertyValue("--row")) || 36;

/** @param {number} height @param {number} columns */
function spacer(height, columns) {
  const cell = element("td", { colSpan: columns });
  cell.style.height = `${Math.max(height, 0)}px`;
  const line = element("tr", { className: "spacer", ariaHidden: "true" }, cell);
  line.hidden = height <= 0;
  return line;
}

/** @param {Row} row @param {number} place @param {typeof COLUMNS} columns */
function rowLine(row, place, columns) {
  const line = element("tr", { "aria-rowindex": place + 2, "data-verdict": row.verdict });
  for (const { name, kind = "", cell, tip } of columns) {
    const made = element("td", { className: `${kind} c-${name}` }, cell(row));
    if (tip) made.title = tip(row);
    line.append(made);
  }
  line.onclick = (/** @type {MouseEvent} */ event) => {
    const isPlain = !event.defaultPrevented && !(event.target instanceof HTMLAnchorElement) && !getSelection()?.toString();
    if (isPlain) location.hash = addressOf(row);
  };
  return line;
}

/** Moves the focus among the rows. @param {number} by */
function moveRow(by) {
  const active = document.activeElement;
  const place = active instanceof HTMLElement ? shownRows.findIndex((row) => String(row.place) === active.dataset.place) : -1;
  focusRow(place < 0 ? (by > 0 ? 0 : shownRows.length - 1) : Math.max(0, Math.min(place + by, shownRows.length - 1)));
}

/** @param {number} place in the rows that are shown */
function focusRow(place) {
  if (!shownRows[place]) return;
  const height = rowHeight();
  const top = $("rows").getBoundingClientRect().top + place * height;
  const head = $("head").getBoundingClientRect().height;
  if (top < head) scrollBy({ top: top - head - height });
  else if (top + height > innerHeight) scrollBy({ top: top + 2 * height - innerHeight });
  drawRows(true);
  $("rows").querySelector(`a[data-place="${shownRows[place].place}"]`)?.focus({ preventScroll: true });
}
