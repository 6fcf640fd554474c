// The film strip of an attempt: its pictures in their order, and a bar of its time.

/**
 * @typedef {{number: number, file: string, place: number, title: string, mark: string}} Frame a picture, and the entry that it belongs to
 */

/** The pictures of an attempt but those before a step, which its own page shows. @param {Entry[]} entries @param {Details} details @returns {Frame[]} */
function framesOf(entries, details) {
  const places = new Map(entries.flatMap((entry, place) => (entry.picture === null ? [] : [[entry.picture, place]])));
  const last = Math.max(START, ...details.lines.map((one) => Number(one.screenshot) || START));
  const frames = [...details.pictures].sort(([a], [b]) => a - b).map(([number, file]) => {
    const place = places.get(number);
    const entry = place === undefined ? null : entries[place];
    if (!details.lines.length) return entry && { number, file, place: Number(place), title: entry.title, mark: "" };
    if (number === START) return { number, file, place: 0, title: "Start", mark: attackMark(attackOf(details), 0) };
    if (number > last) return { number, file, place: entries.length - 1, title: "End", mark: "" };
    return entry && { number, file, place: Number(place), title: entry.number === null ? entry.title : `Step ${entry.number}: ${entry.title}`, mark: entry.mark };
  });
  return /** @type {Frame[]} */ (frames.filter(Boolean));
}

/** Draws the strip. @param {Row} row @param {Entry[]} entries @param {Details} details @param {(place: number) => void} go opens an entry */
function drawStrip(row, entries, details, go) {
  const frames = framesOf(entries, details);
  $("strip").replaceChildren(...frames.map((frame) => frameButton(row, frame, go)));
  $("strip").hidden = !frames.length;
  drawBar(entries, go);
}

/** @param {Row} row @param {Frame} frame @param {(place: number) => void} go */
function frameButton(row, { file, place, title, mark }, go) {
  const address = row.run.alone ? insideOf(row, file) : way(row, "screenshots", file);
  const image = address ? element("img", { alt: "", loading: "lazy", decoding: "async", src: address }) : element("span", { className: "none", textContent: "left out" });
  if (address) image.onerror = () => image.replaceWith(element("span", { className: "none shot-gone", textContent: "gone" }));
  const button = element("button", { type: "button", title: mark ? `${title} (${mark})` : title, onclick: () => go(place), "data-place": place, "data-attack": mark || null }, element("span", { className: "frame" }, image), element("bdi", { className: "name", textContent: title }), attackBadge(mark));
  return element("li", {}, button);
}

/** When entries began, in ms from the first one that says when. @param {Entry[]} entries @returns {{at: number[], whole: number}} */
function timesOf(entries) {
  const stamps = entries.map(({ message }) => Date.parse(message.timestamp));
  const first = stamps.find((stamp) => !Number.isNaN(stamp)) ?? 0;
  let latest = 0;
  const at = stamps.map((stamp) => (latest = Math.max(latest, Number.isNaN(stamp) ? 0 : stamp - first)));
  const ends = entries.map(({ result }) => Date.parse(result?.timestamp) - first).filter((end) => end > 0);
  return { at, whole: Math.max(latest, ...ends) };
}

/** A bar as long as the attempt, with a tick for each step. @param {Entry[]} entries @param {(place: number) => void} go */
function drawBar(entries, go) {
  const { at, whole } = timesOf(entries);
  $("time-bar").hidden = whole <= 0 || entries.length < 2;
  const ticks = entries.map((entry, place) => {
    const x = (1000 * at[place]) / (whole || 1);
    return entry.number !== null && drawing("line", { x1: x, x2: x, y1: 0, y2: 10, class: entry.failed ? "bad" : "" });
  });
  $("ticks").replaceChildren(...ticks.filter(Boolean));
  Object.assign($("time-at"), {
    max: String(whole),
    oninput: () => go(nearest(at, Number($("time-at").value))),
    onkeydown: (/** @type {KeyboardEvent} */ event) => {
      const act = { ArrowLeft: ITEM_KEYS.ArrowUp, ArrowDown: ITEM_KEYS.ArrowUp, ArrowRight: ITEM_KEYS.ArrowDown, ArrowUp: ITEM_KEYS.ArrowDown, Home: ITEM_KEYS.Home, End: ITEM_KEYS.End }[event.key];
      if (!act) return;
      event.preventDefault(); // a step of the bar is one of the attempt, not a millisecond
      act();
    },
  });
  $("time-whole").textContent = time(whole);
}

/** @param {number[]} at @param {number} ms */
const nearest = (at, ms) => at.reduce((best, one, place) => (Math.abs(one - ms) < Math.abs(at[best] - ms) ? place : best), 0);

/** Shows which entry is open. @param {Entry[]} entries @param {number} place */
function markStrip(entries, place) {
  const { at, whole } = timesOf(entries);
  const bar = $("time-at");
  bar.value = String(at[place]);
  const entry = entries[place];
  bar.setAttribute("aria-valuetext", `${entry.number === null ? entry.title : `Step ${entry.number}: ${entry.title}`}, ${time(at[place])} of ${time(whole)}`);
  const buttons = [...$("strip").querySelectorAll("button")];
  const current = buttons.find((button) => Number(button.dataset.place) === place) || buttons.findLast((button) => Number(button.dataset.place) < place);
  for (const button of buttons) button.toggleAttribute("aria-current", button === current);
  current?.setAttribute("aria-current", "step");
  if (current) showIn($("strip"), current.parentElement);
}

/** Scrolls a list sideways until one of it is seen; the page itself stays where it is. @param {any} list @param {any} one */
function showIn(list, one) {
  const [outer, inner] = [list.getBoundingClientRect(), one.getBoundingClientRect()];
  if (inner.left < outer.left) list.scrollLeft -= outer.left - inner.left + 8;
  else if (inner.right > outer.right) list.scrollLeft += inner.right - outer.right + 8;
}
