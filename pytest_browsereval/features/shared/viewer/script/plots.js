// Plots of the rows that are shown: pass rates of groups, and how steps, time and cost are spread.

const MOST_BARS = 5;
const BINS = 24;
const FEWEST_PLOTTED = 20;
const TALL_PX = 1000;
const STACK = /** @type {Verdict[]} */ (["passed", "failed", "errored"]);

/** @param {Row[]} rows */
function drawPlots(rows) {
  const all = choice.kind ? chosenRows({ kind: true }) : rows; // of one verdict there is no rate
  const cards = [rates("site", all), rates("tag", all), rates("variant", all), rates("dataset", all), costs(all)];
  cards.push(spread("steps", rows, (value) => String(Math.round(value))), spread("ms", rows, time), spread("cost", rows, money));
  const drawn = cards.filter(Boolean);
  $("plots").replaceChildren(...drawn);
  $("plots-box").hidden = !drawn.length;
}

/** @param {string} title @param {string} hint @param {...Child} body */
function plotCard(title, hint, ...body) {
  const told = hint ? element("p", { className: "hint", textContent: hint }) : null;
  return element("section", { className: "plot" }, element("h3", { textContent: title }), told, ...body);
}

/**
 * The pass rate of each value of a facet, with its interval; a click chooses the value.
 * @param {string} facet @param {Row[]} rows
 */
function rates(facet, rows) {
  const all = groups(facet, rows).filter(([value, own]) => (value || facet !== "tag") && own.some((row) => STACK.includes(row.verdict)));
  if (all.length < 2 && !choice.chosen[facet]) return null;
  const list = element("ul", { className: "rates" });
  const add = (/** @type {[string, Row[]][]} */ some) => list.append(...some.map(([value, own]) => rateLine(facet, value, own)));
  add(all.slice(0, MOST_BARS));
  const card = plotCard(`Pass rate by ${FACETS[facet].title.toLowerCase()}`, "", list);
  if (all.length > MOST_BARS) {
    const more = element("button", { type: "button", textContent: `Show ${all.length - MOST_BARS} more` });
    more.onclick = () => {
      add(all.slice(MOST_BARS));
      more.remove();
    };
    card.append(more);
  }
  return card;
}

/** @param {string} facet @param {string} value @param {Row[]} rows */
function rateLine(facet, value, rows) {
  const counts = tally(rows);
  const judged = counts.passed + counts.failed;
  const track = drawing("svg", { viewBox: "0 0 100 10", preserveAspectRatio: "none", class: "track", "aria-hidden": "true" });
  track.append(drawing("rect", { x: 0, y: 3, width: 100, height: 4, class: "ground" }));
  let told = "none judged";
  if (judged) {
    const [low, high] = wilson(counts.passed, judged);
    track.append(drawing("rect", { x: 0, y: 3, width: (100 * counts.passed) / judged, height: 4, class: "passed" }));
    track.append(drawing("rect", { x: 100 * low, y: 0, width: Math.max(100 * (high - low), 0.5), height: 10, class: "interval" }));
    told = `${percent(counts.passed / judged)} of ${judged.toLocaleString("en")}`;
    track.append(drawing("rect", { x: Math.min((100 * counts.passed) / judged, 99.4), y: 0, width: 0.6, height: 10, class: "tick" }));
  }
  const name = value || NONE;
  const button = element("button", { type: "button", ariaPressed: String(choice.chosen[facet] === name), title: `${brief(name, 300)}: ${counts.passed} of ${judged} passed, ${counts.errored} errored` });
  button.append(element("bdi", { className: "name", textContent: brief(name, 80) }), track, element("span", { className: "value", textContent: told }));
  button.onclick = () => choose(facet, choice.chosen[facet] === name ? "" : name);
  return element("li", {}, button);
}

/**
 * How a figure is spread, stacked by verdict.
 * @param {"steps" | "ms" | "cost"} field @param {Row[]} rows @param {(value: number) => string} show
 */
function spread(field, rows, show) {
  const known = rows.filter((row) => row[field] !== null && STACK.includes(row.verdict));
  const values = known.map((row) => Number(row[field])).sort((a, b) => a - b);
  const [least, most] = [values[0], values[values.length - 1]];
  if (values.length < 2 || least === most) return null;
  const whole = field === "steps";
  const width = whole ? Math.ceil((most - least + 1) / BINS) : (most - least) / BINS;
  const bins = whole ? Math.ceil((most - least + 1) / width) : BINS;
  const stacks = Array.from({ length: bins }, () => ({ passed: 0, failed: 0, errored: 0 }));
  for (const row of known) stacks[Math.min(Math.floor((Number(row[field]) - least) / width), bins - 1)][/** @type {"passed"} */ (row.verdict)] += 1;
  const highest = Math.max(...stacks.map((one) => one.passed + one.failed + one.errored));
  const told = `median ${show(at(values, 0.5))}, p90 ${show(at(values, 0.9))}`;
  const svg = drawing("svg", { viewBox: "0 0 240 72", preserveAspectRatio: "none", class: "spread", role: "img", "aria-label": `${SORTS[field].title}: ${told}` });
  stacks.forEach((stack, place) => {
    let top = 72;
    for (const verdict of STACK) {
      const height = (70 * stack[/** @type {"passed"} */ (verdict)]) / highest;
      top -= height;
      if (height) svg.append(drawing("rect", { x: (place * 240) / bins + 0.5, y: top, width: 240 / bins - 1, height, class: verdict }));
    }
  });
  const ends = element("p", { className: "ends" }, element("span", { textContent: show(least) }), element("span", { textContent: show(most) }));
  return plotCard(SORTS[field].title, told, svg, ends);
}

/** @param {number[]} values in their order @param {number} share */
const at = (values, share) => values[Math.min(Math.floor(values.length * share), values.length - 1)];

/** What variants cost against what they pass. @param {Row[]} rows */
function costs(rows) {
  const variants = groups("variant", rows).map(([name, own]) => {
    const counts = tally(own);
    const judged = counts.passed + counts.failed;
    const spent = own.every((row) => row.cost !== null) ? own.reduce((sum, row) => sum + Number(row.cost), 0) / own.length : null;
    return { name, judged, rate: counts.passed / judged, spent, range: judged ? wilson(counts.passed, judged) : [0, 0] };
  });
  const known = variants.filter((one) => one.judged && one.spent !== null);
  const most = Math.max(...known.map((one) => Number(one.spent)));
  if (known.length < 2 || !most) return null;
  const svg = drawing("svg", { viewBox: "0 0 300 150", class: "scatter", role: "img", "aria-label": "Pass rate against mean cost per trial, by variant" });
  for (const share of [0, 0.5, 1]) {
    const y = 132 - 122 * share;
    svg.append(drawing("line", { x1: 34, x2: 296, y1: y, y2: y, class: "rule" }), drawing("text", { x: 30, y: y + 3, class: "scale end" }, `${100 * share} %`));
  }
  svg.append(drawing("text", { x: 34, y: 147, class: "scale" }, "$0"), drawing("text", { x: 296, y: 147, class: "scale end" }, `${money(most)} per trial`));
  for (const one of known) {
    const [x, y] = [34 + (230 * Number(one.spent)) / most, 132 - 122 * one.rate];
    svg.append(drawing("line", { x1: x, x2: x, y1: 132 - 122 * one.range[0], y2: 132 - 122 * one.range[1], class: "whisker" }));
    svg.append(drawing("circle", { cx: x, cy: y, r: 4, class: "dot" }));
    svg.append(drawing("text", { x: x > 200 ? x - 7 : x + 7, y: y + 3.5, class: x > 200 ? "end" : "" }, brief(one.name, 24)));
  }
  return plotCard("Cost and pass rate of variants", "", svg);
}
