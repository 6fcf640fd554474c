// Tasks over the last runs of each eval: a cell for each verdict, what has changed in front.

const CELLS = /** @type {Record<string, [string, string]>} */ ({
  P: ["✓", "passed"],
  F: ["✗", "failed"],
  M: ["±", "passed and failed"],
  E: ["!", "errored"],
  "~": ["", "the row has been edited since"],
  ".": ["", "no result"],
});
const VERDICT_OF = /** @type {Record<string, string>} */ ({ P: "passed", F: "failed", E: "errored", M: "mixed" });
const MOST_LINES = 30;
const CALM = DATA.changes.indexOf("passing");

/** @typedef {[string, string, number, string, string]} TaskLine id, variant, change, cells, last day of a quarantine */

/** The eval whose grid was opened or closed by hand. @type {Record<string, boolean>} */
const opened = {};

function drawGrids() {
  const names = Object.keys(DATA.grids).filter((name) => (!choice.chosen.eval || choice.chosen.eval === name) && DATA.grids[name].tasks.length);
  $("grid-box").hidden = !names.length;
  $("grids").replaceChildren(...names.map((name, place) => gridCard(name, opened[name] ?? !place)));
}

/** @param {string} name @param {boolean} isOpen */
function gridCard(name, isOpen) {
  const { tasks, left } = DATA.grids[name];
  const counts = DATA.changes.map((/** @type {string} */ change, /** @type {number} */ at) => [change, tasks.filter((/** @type {TaskLine} */ task) => task[2] === at).length]);
  const text = counts.filter(([, count]) => count).map(([change, count]) => `${count.toLocaleString("en")} ${change}`);
  if (left) text.push(`${left.toLocaleString("en")} more`);
  const heading = element("summary", {}, element("h3", {}, element("bdi", { textContent: name }), element("span", { className: "soft", textContent: ` ${text.join(", ")}` })));
  const box = element("div", {});
  const card = element("details", { className: "card more", open: isOpen }, heading, box);
  const show = () => {
    if (card.open && !box.childElementCount) box.append(...gridParts(name));
  };
  card.ontoggle = () => {
    opened[name] = card.open;
    show();
  };
  show();
  return card;
}

/** @param {string} name */
function gridParts(name) {
  const { tasks } = DATA.grids[name];
  /** @type {Run[]} */
  const runs = DATA.grids[name].runs.map((/** @type {number} */ place) => LIST[place]);
  const several = new Set(tasks.map((/** @type {TaskLine} */ task) => task[1])).size > 1;
  const heads = runs.map((run, place) => {
    const isSameDay = place > 0 && day(runs[place - 1].started) === day(run.started);
    const when = isSameDay ? [clock(run.started)] : [two(run.started.getUTCDate()), element("br"), MONTHS[run.started.getUTCMonth()]];
    return element("th", { scope: "col", className: "of-run", title: readingOfRun(run) }, element("a", { href: addressOf(run) }, ...when));
  });
  const head = element("tr", {}, element("th", { scope: "col", textContent: "Task" }), element("th", { scope: "col", textContent: "Change" }), ...heads);
  const body = element("tbody");
  const add = (/** @type {TaskLine[]} */ some) => body.append(...some.map((task) => gridLine(task, runs, several)));
  const first = tasks.filter((/** @type {TaskLine} */ task) => task[2] !== CALM).slice(0, MOST_LINES);
  const shown = first.length ? first : tasks.slice(0, 5);
  add(shown);
  const table = element("table", { className: "grid", ariaLabel: `Tasks of ${name}` }, element("thead", {}, head), body);
  const box = element("div", { className: "scrolls", tabIndex: 0, role: "group", ariaLabel: `Tasks of ${name}` }, table);
  requestAnimationFrame(() => (box.scrollLeft = box.scrollWidth)); // the newest runs are on the right
  if (shown.length === tasks.length) return [box];
  const more = element("button", { type: "button", textContent: `Show ${counted(tasks.length - shown.length, "more task")}` });
  more.onclick = () => {
    add(tasks.slice(shown.length));
    more.remove();
  };
  return [box, more];
}

/** @param {Run} run */
const readingOfRun = (run) => [moment(run.started), run.outcome, run.note, hasFigures(run) ? rateText(run.whole) : ""].filter(Boolean).join(" · ");

/** @param {TaskLine} task @param {Run[]} runs @param {boolean} several */
function gridLine([id, variant, change, cells, until], runs, several) {
  const newest = runs.findLast((run, place) => run.page && "PFME".includes(cells[place]));
  const name = element("bdi", { textContent: id });
  const link = newest ? element("a", { href: `${pageOf(newest)}#?${new URLSearchParams({ q: id })}` }, name) : name;
  const head = element("th", { scope: "row", title: id }, link, several ? element("bdi", { className: "soft", textContent: ` ${variant}` }) : null, until ? element("span", { className: "until", textContent: `quarantined to ${until}` }) : null);
  const made = [...cells].map((cell, place) => gridCell(cell, runs[place], variant));
  return element("tr", {}, head, element("td", { className: "change", textContent: DATA.changes[change] }), ...made);
}

/** @param {string} cell @param {Run} run @param {string} variant */
function gridCell(cell, run, variant) {
  const [mark, word] = CELLS[cell] || CELLS["."];
  const isBroken = run.variants.some((one) => one.name === variant && one.broken);
  const inner = element("span", { className: "cell" }, element("span", { ariaHidden: "true", textContent: mark }), element("span", { className: "unseen", textContent: word }));
  if (VERDICT_OF[cell]) inner.dataset.verdict = VERDICT_OF[cell];
  if (cell === "~") inner.classList.add("edited");
  const made = element("td", { className: isBroken ? "of-run broken" : "of-run", title: `${moment(run.started)}: ${word}` }, inner);
  made.onclick = () => (location.hash = addressOf(run));
  return made;
}

/** The page of a run, from this one. @param {Run} run */
const pageOf = (run) => addressOfPath(DATA.home, run.page);
