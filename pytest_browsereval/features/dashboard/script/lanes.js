// Workers with their lanes: which attempt is in each, what it shows, how far it is, what it has spent.

/**
 * @typedef {{key: string, worker: string, place: number, began_ms: number, lines: number, steps: number, cost: number | null,
 *   picture: string | null, last: any}} Flight
 * @typedef {{workers: string[], lanes: number, flights: Flight[]}} Lanes
 */

/** How far the clock of the run's machine is ahead of this one. */
const AHEAD_MS = DATA.live.now_ms - Date.now();

/** @typedef {{key: string, flight: Flight | undefined, picture: string | null, card: any}} Drawn */
/** What is drawn of each lane, by its name. @type {Map<string, Drawn>} */
const cards = new Map();

/** @param {Lanes} lanes */
function drawLanes(lanes) {
  const drawn = [];
  for (const worker of lanes.workers) {
    const own = lanes.flights.filter((flight) => flight.worker === worker);
    const most = Math.max(lanes.lanes, ...own.map((flight) => flight.place + 1));
    for (let place = 0; place < most; place += 1) {
      const name = `${worker === "main" ? "" : `${worker}, `}lane ${place + 1}`;
      drawn.push(laneCard(name, own.find((flight) => flight.place === place)));
    }
  }
  for (const name of [...cards.keys()]) if (!drawn.includes(cards.get(name)?.card)) cards.delete(name);
  const box = $("lanes");
  if (drawn.length !== box.children.length || drawn.some((card, place) => box.children[place] !== card)) box.replaceChildren(...drawn);
}

/** @param {string} name @param {Flight | undefined} flight */
function laneCard(name, flight) {
  const key = flight ? flight.key : "";
  let known = cards.get(name);
  if (!known || known.key !== key) {
    known = { key, flight, picture: null, card: flight ? busyCard(name, flight) : freeCard(name) };
    cards.set(name, known);
  }
  if (flight) {
    known.flight = flight;
    showPicture(known);
    const entry = flight.last.type ? entryOf(flight.last, 0, 0, new Map()) : null;
    known.card.querySelector(".last").replaceChildren(...(entry ? entryWords(entry) : []));
    known.card.querySelector(".spent").textContent = `${counted(flight.steps, "step")}, ${flight.cost === null ? "cost unknown" : money(flight.cost)}`;
    known.card.dataset.began = String(flight.began_ms);
  }
  return known.card;
}

/** @param {string} name */
function freeCard(name) {
  return element("section", { className: "card lane free", ariaLabel: name }, element("h3", { textContent: name }), element("p", { className: "none", textContent: "free" }));
}

/** @param {string} name @param {Flight} flight */
function busyCard(name, flight) {
  const row = BY_KEY.get(flight.key);
  const link = element("a", { href: addressOf(/** @type {any} */ ({ key: flight.key })) }, element("bdi", { textContent: row ? nameOf(row) : flight.key }));
  return element(
    "section",
    { className: "card lane", ariaLabel: name },
    element("h3", { textContent: name }),
    element("p", { className: "task", title: row ? `${row.id}\n${row.query}` : flight.key }, link),
    element("div", { className: "view" }, element("span", { className: "none", textContent: "no picture yet" })),
    element("p", { className: "last what" }),
    element("p", { className: "figures" }, element("span", { className: "spent" }), ", ", element("span", { className: "since" })),
  );
}

/**
 * Shows the newest picture; the one before it stays until that is there, and no other one is asked for meanwhile.
 * @param {Drawn} known
 */
function showPicture(known) {
  const view = known.card.querySelector(".view");
  const flight = known.flight;
  if (!flight?.picture || flight.picture === known.picture || view.querySelector(".coming")) return;
  known.picture = flight.picture;
  const row = /** @type {any} */ ({ key: flight.key, run: DATA.run });
  const coming = element("div", { className: "coming" }, pictureOf(row, flight.picture, `The page after step ${flight.steps}`, []));
  const settle = () => {
    while (coming.previousSibling) coming.previousSibling.remove();
    coming.classList.remove("coming");
    showPicture(known);
  };
  for (const kind of ["load", "error"]) coming.querySelector("img").addEventListener(kind, settle);
  view.append(coming);
}

/** @param {Entry} entry */
function entryWords(entry) {
  const title = entry.kind === "tool_result" ? "→" : entry.title;
  const isUnderWay = entry.kind === "tool_call"; // its result is a message of its own, later
  const failed = entry.failed && !isUnderWay ? [" ", element("span", { className: "failed", textContent: entry.failed })] : [];
  return [element("bdi", { className: "tool", textContent: title }), ...failed, " ", element("bdi", { className: "brief", textContent: entry.brief })];
}

function tellTimes() {
  for (const card of $("lanes").children) {
    const began = Number(card.dataset.began);
    const seconds = Math.max(0, Math.floor((Date.now() + AHEAD_MS - began) / 1000));
    if (began) card.querySelector(".since").textContent = seconds < 60 ? `${seconds} s` : time(seconds * 1000);
  }
}
