// Pass rates over time: a chart for each eval and variant, with what it took below.

/** @typedef {{run: Run, variant: Variant}} Point */
/** @typedef {{title: string, of: (variant: Variant) => number | null, show: (value: number) => string}} Measure */

const SPANS = [30, 100, Infinity];
const MOST_CHARTS = 4;
const LEAST_RUNS = 3; // of a line: the table has the figures of fewer
const LEAST_STEP = 7; // pixels from dot to dot
const LEAST_LABEL = 18; // pixels from number to number
const MOST_BREAKS = 5;
const LEFT = 46;
const RIGHT = 10;
const TOP = 18;
const HIGH = 150;
const SMALL = 26;
const GAP = 20;

const lines = { span: 1, charts: MOST_CHARTS, width: 0 };

/** The runs of each eval and variant, the oldest first. @type {Map<string, Point[]>} */
const SERIES = new Map();
for (const run of [...LIST].reverse())
  for (const variant of run.variants) {
    const key = JSON.stringify([run.eval, variant.name]);
    const known = SERIES.get(key);
    if (known) known.push({ run, variant });
    else SERIES.set(key, [{ run, variant }]);
  }

/** @type {Measure[]} */
const MEASURES = [
  { title: "errored", of: (one) => one.errored / Math.max(1, one.passed + one.failed + one.errored), show: percent },
  { title: "cost", of: (one) => one.cost, show: money },
  { title: "steps, p95", of: (one) => one.steps, show: stepsText },
  { title: "time, p95", of: (one) => one.ms, show: time },
];

/** @param {Point} point */
const isInLine = ({ run, variant }) => run.state === "complete" && variant.rate !== null;

/** Draws the charts that are chosen. */
function drawLines() {
  const { chosen } = choice;
  const all = [...SERIES].filter(([key, points]) => {
    const [name, variant] = JSON.parse(key);
    return points.filter(isInLine).length >= LEAST_RUNS && (!chosen.eval || chosen.eval === name) && (!chosen.variant || chosen.variant === variant);
  });
  all.sort((a, b) => a[1][a[1].length - 1].run.place - b[1][b[1].length - 1].run.place);
  $("lines-box").hidden = !all.length;
  lines.width = $("lines").clientWidth;
  const cards = all.slice(0, lines.charts).map(([, points]) => lineCard(points));
  const more = all.length - lines.charts;
  const button = element("button", { type: "button", textContent: `Show ${counted(more, "more line")}` });
  button.onclick = () => {
    lines.charts = Infinity;
    drawLines();
  };
  $("lines").replaceChildren(...cards, ...(more > 0 ? [button] : []));
  const longest = Math.max(0, ...all.map(([, points]) => points.length));
  const spans = SPANS.filter((span) => span < longest || span === Infinity);
  if (SPANS[lines.span] >= longest) lines.span = SPANS.length - 1;
  $("spans").replaceChildren(...(spans.length > 1 ? spans.map(spanButton) : []));
}

/** @param {number} span */
function spanButton(span) {
  const text = span === Infinity ? "all" : `last ${span}`;
  return element("button", { type: "button", textContent: text, ariaPressed: String(SPANS[lines.span] === span), onclick: () => setSpan(span) });
}

/** @param {number} span */
function setSpan(span) {
  lines.span = SPANS.indexOf(span);
  drawLines();
  $("spans").querySelector('[aria-pressed="true"]')?.focus();
}

/** To the next longer one, and from the longest to the shortest. */
function turnSpan() {
  const buttons = [...$("spans").children];
  const place = buttons.findIndex((button) => button.ariaPressed === "true");
  buttons[(place + 1) % buttons.length]?.click();
}

/** @param {Point[]} all */
function lineCard(all) {
  const points = all.slice(-SPANS[lines.span]);
  const { run, variant } = points[points.length - 1];
  const name = variant.name === "default" ? run.eval : `${run.eval}, ${variant.name}`;
  const title = element("h3", {}, element("bdi", { textContent: name }), element("bdi", { className: "soft", textContent: variant.agent ? ` ${variant.agent}` : "" }));
  const last = points.findLast(isInLine);
  const reading = element("p", { className: "reading" });
  const first = last ? readingOf(last) : "No runs to plot.";
  reading.textContent = first;
  const breaks = points.filter((point) => isInLine(point) && point.variant.broken);
  const svg = chart(points, breaks, `Pass rate of ${name} over ${counted(points.length, "run")}, ${counted(breaks.length, "break")}. ${first}`);
  watch(svg, points, reading, first);
  return element("section", { className: "card line", ariaLabel: name }, title, reading, svg, breakList(breaks));
}

/** What a point says. @param {Point} point */
function readingOf({ run, variant }) {
  const parts = [moment(run.started), run.state === "complete" ? rateText(variant) : `${run.state}${run.note ? `: ${run.note}` : ""}`];
  if (hasFigures(run)) parts.push(...(variant.errored ? [`${variant.errored} errored`] : []), costText(variant));
  if (run.gate !== null) parts.push(`gate ${run.gate ? "met" : "not met"}`);
  if (run.commit) parts.push(run.commit.slice(0, 7));
  return parts.join(" · ");
}

/** @param {any} svg @param {Point[]} points @param {any} reading @param {string} first */
function watch(svg, points, reading, first) {
  const guide = svg.querySelector(".guide");
  const at = (/** @type {PointerEvent} */ event) => {
    const step = (lines.width - 2 * PAD - LEFT - RIGHT) / points.length;
    const place = Math.floor((event.clientX - svg.getBoundingClientRect().left - LEFT) / step);
    return Math.max(0, Math.min(place, points.length - 1));
  };
  svg.onpointermove = (/** @type {PointerEvent} */ event) => {
    const place = at(event);
    reading.textContent = readingOf(points[place]);
    const x = placeOf(place, points.length);
    guide.setAttribute("x1", String(x));
    guide.setAttribute("x2", String(x));
    guide.setAttribute("class", "guide shown");
  };
  svg.onpointerleave = () => {
    reading.textContent = first;
    guide.setAttribute("class", "guide");
  };
  svg.onclick = (/** @type {PointerEvent} */ event) => (location.hash = addressOf(points[at(event)].run));
}

const PAD = 17; // of a card, with its border

/** @param {number} place @param {number} count */
const placeOf = (place, count) => LEFT + ((place + 0.5) * (lines.width - 2 * PAD - LEFT - RIGHT)) / count;

/** @param {number} share */
const heightOf = (share) => TOP + HIGH * (1 - share);

/** @param {Point[]} points @param {Point[]} breaks @param {string} label */
function chart(points, breaks, label) {
  const width = Math.max(lines.width - 2 * PAD, 120);
  const shown = MEASURES.filter((one) => points.some((point) => isInLine(point) && one.of(point.variant)));
  const foot = TOP + HIGH + 18;
  const height = foot + shown.length * (SMALL + GAP) + 4;
  const step = (width - LEFT - RIGHT) / points.length;
  const svg = drawing("svg", { viewBox: `0 0 ${width} ${height}`, class: step < 2 ? "chart dense" : "chart", role: "img", "aria-label": label });
  for (const share of [0, 0.5, 1]) {
    const y = heightOf(share);
    svg.append(drawing("line", { x1: LEFT, x2: width - RIGHT, y1: y, y2: y, class: "rule" }), drawing("text", { x: LEFT - 6, y: y + 4, class: "scale end" }, `${100 * share} %`));
  }
  drawDays(svg, points, TOP + HIGH + 14);
  const runs = pieces(points);
  const dots = step > LEAST_STEP;
  for (const piece of runs) drawPiece(svg, piece, points, dots);
  points.forEach((point, place) => {
    if (!isInLine(point)) drawApart(svg, point, placeOf(place, points.length));
  });
  let labelled = -Infinity;
  breaks.forEach((point, number) => {
    const x = drawBreak(svg, points, point, height);
    if (x - labelled < LEAST_LABEL) return;
    svg.append(drawing("text", { x, y: TOP - 7, class: "middle" }, String(breaks.length - number)));
    labelled = x;
  });
  shown.forEach((one, number) => drawMeasure(svg, one, points, runs, foot + number * (SMALL + GAP) + GAP, width));
  svg.append(drawing("line", { x1: 0, x2: 0, y1: TOP, y2: height, class: "guide" }));
  return svg;
}

/** The parts of a line: the places of points that can be compared. @param {Point[]} points */
function pieces(points) {
  /** @type {number[][]} */
  const found = [];
  points.forEach((point, place) => {
    if (!isInLine(point)) return;
    if (!found.length || point.variant.broken) found.push([place]);
    else found[found.length - 1].push(place);
  });
  return found;
}

/** Writes when runs were; of those of the day before it, the time. @param {any} svg @param {Point[]} points @param {number} y */
function drawDays(svg, points, y) {
  let known = "";
  const last = points.length - 1;
  const places = last < 1 ? [0] : lines.width > 600 && last > 3 ? [0, Math.round(last / 2), last] : [0, last];
  places.forEach((place, number) => {
    const kind = last < 1 ? "middle" : number === 0 ? "start" : number === places.length - 1 ? "end" : "middle";
    const { started } = points[place].run;
    const text = day(started) === known ? clock(started) : day(started);
    known = day(started);
    svg.append(drawing("text", { x: placeOf(place, points.length), y, class: `scale ${kind}` }, text));
  });
}

/** @param {any} svg @param {number[]} piece @param {Point[]} points @param {boolean} dots */
function drawPiece(svg, piece, points, dots) {
  const at = (/** @type {number} */ place, /** @type {number | null} */ share) => `${placeOf(place, points.length).toFixed(1)},${heightOf(Number(share)).toFixed(1)}`;
  const of = (/** @type {number} */ place) => points[place].variant;
  if (piece.length > 1) {
    const ends = [...piece.map((place) => at(place, of(place).high)), ...[...piece].reverse().map((place) => at(place, of(place).low))];
    svg.append(drawing("polygon", { points: ends.join(" "), class: "band" }));
    svg.append(drawing("polyline", { points: piece.map((place) => at(place, of(place).rate)).join(" "), class: "rate-line" }));
  } else drawWhisker(svg, of(piece[0]), placeOf(piece[0], points.length), "whisker");
  for (const place of dots || piece.length === 1 ? piece : []) {
    const kind = points[place].run.gate === false ? "dot missed" : "dot";
    svg.append(drawing("circle", { cx: placeOf(place, points.length), cy: heightOf(Number(of(place).rate)), r: points.length > 60 ? 2.5 : 3.5, class: kind }));
  }
}

/** @param {any} svg @param {Variant} variant @param {number} x @param {string} kind */
function drawWhisker(svg, variant, x, kind) {
  if (variant.low !== null) svg.append(drawing("line", { x1: x, x2: x, y1: heightOf(Number(variant.high)), y2: heightOf(variant.low), class: kind }));
}

/** A run that is not in the line. @param {any} svg @param {Point} point @param {number} x */
function drawApart(svg, { run, variant }, x) {
  if (run.state !== "merged" || variant.rate === null) {
    svg.append(drawing("path", { d: `M${x - 3},${TOP + HIGH - 3}l6,6m0,-6l-6,6`, class: "apart" }));
    return;
  }
  drawWhisker(svg, variant, x, "whisker apart");
  svg.append(drawing("path", { d: `M${x},${heightOf(variant.rate) - 5}l5,5l-5,5l-5,-5z`, class: "apart" }));
}

/** Returns where it is. @param {any} svg @param {Point[]} points @param {Point} point @param {number} height */
function drawBreak(svg, points, point, height) {
  const place = points.indexOf(point);
  const before = points.findLastIndex((one, other) => other < place && isInLine(one));
  const x = before < 0 ? LEFT : (placeOf(place, points.length) + placeOf(before, points.length)) / 2;
  svg.append(drawing("line", { x1: x, x2: x, y1: TOP - 4, y2: height, class: "break" }));
  return x;
}

/** @param {any} svg @param {Measure} measure @param {Point[]} points @param {number[][]} runs @param {number} top @param {number} width */
function drawMeasure(svg, { title, of, show }, points, runs, top, width) {
  const values = points.map((point) => (isInLine(point) ? of(point.variant) : null));
  const most = Math.max(...values.map(Number));
  const y = (/** @type {number} */ value) => top + SMALL - (SMALL * value) / most;
  svg.append(drawing("line", { x1: LEFT, x2: width - RIGHT, y1: top + SMALL, y2: top + SMALL, class: "rule" }));
  for (const piece of runs) {
    const known = piece.filter((place) => values[place] !== null);
    const at = known.map((place) => `${placeOf(place, points.length).toFixed(1)},${y(Number(values[place])).toFixed(1)}`);
    if (known.length > 1) svg.append(drawing("polyline", { points: at.join(" "), class: "small-line" }));
    else if (known.length) svg.append(drawing("circle", { cx: placeOf(known[0], points.length), cy: y(Number(values[known[0]])), r: 2, class: "small-dot" }));
  }
  svg.append(drawing("text", { x: LEFT, y: top - 4, class: "scale" }, `${title}, up to ${show(most)}`));
}

/** Why the line breaks, the newest first. @param {Point[]} breaks */
function breakList(breaks) {
  const list = element("ol", { className: "breaks" });
  const newest = [...breaks].reverse();
  const add = (/** @type {Point[]} */ some) => list.append(...some.map((point) => breakLine(point, newest.indexOf(point) + 1)));
  add(newest.slice(0, MOST_BREAKS));
  if (newest.length <= MOST_BREAKS) return newest.length ? list : null;
  const more = element("button", { type: "button", textContent: `Show ${counted(newest.length - MOST_BREAKS, "more break")}` });
  more.onclick = () => {
    add(newest.slice(MOST_BREAKS));
    more.remove();
  };
  return element("div", {}, list, more);
}

/** @param {Point} point @param {number} number */
function breakLine({ run, variant }, number) {
  const link = element("a", { href: addressOf(run), textContent: moment(run.started) });
  return element("li", {}, element("b", { textContent: `${number} ` }), link, ` ${(variant.broken?.[1] || []).join(", ")} changed`);
}

addEventListener("resize", () => {
  if (!$("overview").hidden && $("lines").clientWidth !== lines.width) drawLines();
});
