// The table of a list: only the rows near the window are in the page, however many there are.

const MARGIN = 12;
let drawnFrom = -1;
let drawnTo = -1;

/** @typedef {{name: string, title: string, kind?: string, is: () => boolean, cell: (row: any) => Child, tip?: (row: any) => string}} Column */

const columnsShown = () => COLUMNS.filter((column) => column.is() && !(narrow.matches && column.kind?.startsWith("wide")));

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
  if ($("overview").hidden) return;
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

/** @param {Listed} row @param {number} place @param {Column[]} columns */
function rowLine(row, place, columns) {
  const line = element("tr", { "aria-rowindex": place + 2, [`data-${KIND.name}`]: KIND.of(row) });
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

/** @param {any} row */
function focusRowOf(row) {
  const place = row ? shownRows.indexOf(row) : -1;
  if (place >= 0) focusRow(place);
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
