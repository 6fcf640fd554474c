// What is shown of a page's list, and in which order; the address keeps it.

/**
 * Anything that a list has: trials, or pairs of them.
 * @typedef {{place: number, text: string} & Record<string, any>} Listed
 * @typedef {{title: string, of: (row: any) => string[]}} Facet
 * @typedef {{title: string, of: (row: any) => any, isDown?: boolean}} Sort
 */

/** Menus that one line next to the search has room for. */
const MOST_SHOWN = 3;

/** @type {{query: string, kind: string, sort: string, isDown: boolean, chosen: Record<string, string>}} */
const choice = { query: "", kind: "", sort: KIND.name, isDown: false, chosen: {} };

/** The rows that are shown, in their order. @type {any[]} */
let shownRows = LIST;

const NONE = "(none)";

/** @type {Record<string, boolean>} */
const severals = {};

/** Whether rows differ in a facet. @param {string} facet */
function many(facet) {
  severals[facet] ??= new Set(LIST.flatMap((row) => FACETS[facet].of(row))).size > 1;
  return severals[facet];
}

/** @param {Listed} row */
function textOf(row) {
  row.text ||= wordsOf(row).join("\n").toLowerCase();
  return row.text;
}

const wordsOfQuery = () => choice.query.toLowerCase().split(/\s+/).filter(Boolean);

/** A reason, or where the words stand that are searched for. @param {any} row */
function reasonCell(row) {
  const excerpt = choice.query ? excerptOf(row) : null;
  if (!excerpt) return element("bdi", { textContent: row.reason });
  const [before, word, after] = excerpt;
  return element("bdi", { className: "excerpt" }, `… ${before}`, element("mark", { textContent: word }), after);
}

/**
 * The rows that are chosen.
 * @param {{kind?: boolean, facet?: string}} [except] what is not asked for
 */
function chosenRows(except = {}) {
  const words = wordsOfQuery();
  const facets = Object.entries(choice.chosen).filter(([name, value]) => value !== "" && name !== except.facet);
  return LIST.filter(
    (row) =>
      (except.kind || !choice.kind || KIND.of(row) === choice.kind) &&
      facets.every(([name, value]) => FACETS[name].of(row).includes(value === NONE ? "" : value)) &&
      words.every((word) => textOf(row).includes(word) || isInTexts(row, word)),
  );
}

/** @param {any[]} rows */
function sorted(rows) {
  const { of } = SORTS[choice.sort];
  const compare = new Intl.Collator("en", { numeric: true }).compare;
  const sign = choice.isDown ? -1 : 1;
  const keyed = rows.map((row) => /** @type {[any, Listed]} */ ([of(row), row]));
  keyed.sort(([a, first], [b, second]) => {
    if (a === null || b === null) return Number(a === null) - Number(b === null) || first.place - second.place;
    return sign * (typeof a === "string" ? compare(a, b) : a - b) || first.place - second.place;
  });
  return keyed.map(([, row]) => row);
}

/** How many rows there are of each kind. @param {any[]} rows @returns {Record<string, number>} */
function tally(rows) {
  const counts = /** @type {Record<string, number>} */ (Object.fromEntries(KIND.all.map((kind) => [kind, 0])));
  for (const row of rows) counts[KIND.of(row)] += 1;
  return counts;
}

/** The values of a facet with their rows, the most frequent first. @param {string} facet @param {any[]} rows @returns {[string, any[]][]} */
function groups(facet, rows) {
  /** @type {Map<string, any[]>} */
  const found = new Map();
  for (const row of rows)
    for (const value of FACETS[facet].of(row)) {
      const known = found.get(value);
      if (known) known.push(row);
      else found.set(value, [row]);
    }
  return [...found].sort((a, b) => b[1].length - a[1].length || (a[0] < b[0] ? -1 : 1));
}

// -- choosing

/** @param {string} name @param {string} value */
function choose(name, value) {
  if (name === "query") choice.query = value;
  else if (name === "kind") choice.kind = value;
  else choice.chosen[name] = value;
  redraw();
}

/** @param {string} name */
function sortBy(name) {
  choice.isDown = choice.sort === name ? !choice.isDown : Boolean(SORTS[name].isDown);
  choice.sort = name;
  redraw();
  /** @type {any} */ ($("head").querySelector("[aria-sort] button"))?.focus();
}

/** Draws what follows from the choice, and keeps it in the address. */
function redraw() {
  searchTexts(wordsOfQuery());
  shownRows = sorted(chosenRows());
  history.replaceState(null, "", overviewAddress());
  drawFilters();
  drawHead();
  drawRows(true);
  $("table").setAttribute("aria-rowcount", String(shownRows.length + 1));
  const found = `${shownRows.length.toLocaleString("en")} of ${LIST.length.toLocaleString("en")}`;
  $("found").textContent = shownRows.length ? found + drawChosen(shownRows) : isSearching() ? "Searching …" : KIND.nothing;
  $("clear").hidden = !isChosen();
  tellSearched();
}

const isChosen = () => Boolean(choice.query || choice.kind || Object.values(choice.chosen).some(Boolean));

function overviewAddress() {
  const given = new URLSearchParams();
  if (choice.query) given.set("q", choice.query);
  if (choice.kind) given.set(KIND.name, choice.kind);
  for (const [name, value] of Object.entries(choice.chosen)) if (value) given.set(name, value);
  if (choice.sort !== KIND.name || choice.isDown) given.set("sort", (choice.isDown ? "-" : "") + choice.sort);
  return `#?${given}`;
}

/** Takes the choice from the address. @param {string} text */
function readChoice(text) {
  const given = new URLSearchParams(text);
  const sort = given.get("sort") || KIND.name;
  const name = sort.replace(/^-/, "");
  choice.query = given.get("q") || "";
  choice.kind = KIND.all.includes(given.get(KIND.name) || "") ? String(given.get(KIND.name)) : "";
  choice.chosen = Object.fromEntries(Object.keys(FACETS).map((facet) => [facet, given.get(facet) || ""]));
  choice.sort = Object.hasOwn(SORTS, name) ? name : KIND.name;
  choice.isDown = sort.startsWith("-");
}

function buildFilters() {
  const counts = tally(LIST);
  const kinds = ["", ...KIND.all.filter((kind) => counts[kind])];
  $("kinds").replaceChildren(...kinds.map((kind) => element("button", { type: "button", [`data-${KIND.name}`]: kind, onclick: () => choose("kind", kind) })));
  const facets = Object.keys(FACETS).filter(many);
  $("facets").replaceChildren(
    ...facets.map((facet) => {
      const select = element("select", { id: `facet-${facet}`, onchange: () => choose(facet, select.value) });
      return element("label", {}, element("span", { textContent: FACETS[facet].title }), select);
    }),
  );
  $("more-filters").hidden = !facets.length;
  $("more-filters").classList.toggle("many", facets.length > MOST_SHOWN);
  let typing = 0;
  $("search").oninput = () => {
    clearTimeout(typing);
    typing = setTimeout(() => choose("query", $("search").value), 120);
  };
  $("clear").onclick = () => {
    readChoice("");
    redraw();
    $("search").focus();
  };
}

/** In a narrow window they would fill it, and many would take a line from the rows. */
function openFilters() {
  const fit = !narrow.matches && !$("more-filters").classList.contains("many");
  $("more-filters").open ||= fit || Object.values(choice.chosen).some(Boolean);
}

function drawFilters() {
  openFilters();
  if ($("search").value !== choice.query && document.activeElement !== $("search")) $("search").value = choice.query;
  const counts = tally(chosenRows({ kind: true }));
  for (const button of $("kinds").children) {
    const kind = button.getAttribute(`data-${KIND.name}`);
    const count = kind ? counts[kind] : Object.values(counts).reduce((sum, one) => sum + one, 0);
    const mark = kind ? element("span", { ariaHidden: "true", textContent: `${MARKS[kind]} ` }) : null;
    button.replaceChildren(...[mark, `${kind || "all"} `, element("b", { textContent: count.toLocaleString("en") })].filter(Boolean));
    button.ariaPressed = String(choice.kind === kind);
  }
  for (const facet of Object.keys(FACETS).filter(many)) {
    const select = $(`facet-${facet}`);
    const options = groups(facet, chosenRows({ facet })).map(([value, rows]) => /** @type {[string, number]} */ ([value || NONE, rows.length]));
    const chosen = choice.chosen[facet];
    if (chosen && !options.some(([value]) => value === chosen)) options.push([chosen, 0]);
    options.sort(([a], [b]) => a.localeCompare(b, "en", { numeric: true }));
    select.replaceChildren(
      element("option", { value: "", textContent: "all" }),
      ...options.map(([value, count]) => element("option", { value, textContent: `${brief(value, 60)} (${count.toLocaleString("en")})` })),
    );
    select.value = chosen || "";
  }
}

// -- the next one

/**
 * Neighbours in the order of the list, of those that are chosen there. Behind the last one to look at comes the first.
 * @param {any} row @param {number} by @param {boolean} [isOpen] whether only those to look at count
 */
function neighbour(row, by, isOpen = false) {
  const rows = shownRows.includes(row) ? shownRows : sorted(LIST);
  const place = rows.indexOf(row) + by;
  if (!isOpen) return rows[place] || null;
  const round = by > 0 ? [...rows.slice(place), ...rows.slice(0, place - 1)] : [...rows.slice(0, Math.max(place + 1, 0)).reverse(), ...rows.slice(place + 2).reverse()];
  return round.find(KIND.isOpen) || null;
}

/** A row that was reached from the other end of the list, and that end. @type {{row: any, end: string}} */
const round = { row: null, end: "" };

/** @param {any} row */
function drawTurns(row) {
  const rows = shownRows.includes(row) ? shownRows : LIST;
  const place = rows.indexOf(row);
  const again = round.row === row ? `, once more from the ${round.end}` : "";
  $("position").textContent = place >= 0 ? `${(place + 1).toLocaleString("en")} of ${rows.length.toLocaleString("en")}${again}` : "";
  const turns = { previous: neighbour(row, -1), next: neighbour(row, 1), "next-open": neighbour(row, 1, true) };
  for (const [id, target] of Object.entries(turns)) $(id).disabled = !target;
}

/** @param {any} row that is open @param {number} by @param {boolean} [isOpen] */
function turn(row, by, isOpen = false) {
  const target = row && neighbour(row, by, isOpen);
  if (!target && row && isOpen) tell("There is no other one.");
  if (!target) return;
  const [from, to] = [row, target].map((one) => shownRows.indexOf(one));
  const isRound = isOpen && from >= 0 && Math.sign(to - from) !== Math.sign(by);
  Object.assign(round, { row: isRound ? target : null, end: by > 0 ? "start" : "end" });
  location.hash = addressOf(target);
  route(); // a key that is pressed before the browser tells of the new address goes on from there
}
