// How far an attempt came: which checks and milestones of its row held after which step.

/**
 * @typedef {{step: number, held: (boolean | null)[], found: Record<string, string>, note: string, isEnd: boolean}} Moment
 * @typedef {{checks: {name: string, isMilestone: boolean}[], leftOut: {name: string, why: string}[], moments: Moment[]}} Course
 */

/** @param {string} text of progress.jsonl @returns {Course | null} */
function courseOf(text) {
  const [head, ...lines] = text.split("\n").filter(Boolean).map(tryParse);
  if (!head || !Array.isArray(head.checks)) return null;
  const checks = head.checks.map((/** @type {any} */ one) => ({ name: visible(asText(one?.name)), isMilestone: Boolean(one?.is_milestone), why: visible(asText(one?.left_out)) }));
  return {
    checks: checks.filter((/** @type {any} */ one) => !one.why),
    leftOut: checks.filter((/** @type {any} */ one) => one.why),
    moments: lines.filter(Boolean).map((one) => ({ step: Number(one.step) || 0, held: Array.isArray(one.held) ? one.held : [], found: Object(one.found), note: visible(asText(one.note)), isEnd: Boolean(one.is_end) })),
  };
}

/** @param {Moment} moment */
const whenOf = (moment) => (moment.isEnd ? "at the end" : moment.step ? `after step ${moment.step}` : "at the start");

/** What the page says of an attempt's progress; nothing where there is none. @param {Details | null} details @param {(place: number) => void} go opens an entry */
function progressParts(details, go) {
  const course = details?.records.course;
  if (!course || !course.checks.length) return [];
  const figures = details.metadata.progress || {};
  const told = progressInWords(figures);
  const checks = course.checks.map((check, place) => ({ ...check, place }));
  const plain = checks.filter((one) => !one.isMilestone);
  const parts = told.map((text) => element("p", { textContent: text }));
  const lost = Array.isArray(figures.lost) ? figures.lost : [];
  if (lost.length) parts.push(element("ul", { className: "findings" }, ...lost.map((/** @type {any} */ line) => element("li", { "data-kind": "warning" }, element("b", { textContent: "Reached and lost: " }), element("bdi", { textContent: visible(asText(line)) })))));
  for (const [title, own] of /** @type {[string, typeof checks][]} */ ([["Milestones", checks.filter((one) => one.isMilestone)], ["Checks", plain]])) {
    if (!own.length) continue;
    const all = title === "Checks" && own.length > 1 ? [shareLine(course, own.map((one) => one.place))] : [];
    parts.push(element("h4", { textContent: title }), element("ul", { className: "course" }, ...all, ...own.map((one) => checkLine(course, one, go))));
  }
  parts.push(...gapsInWords(course).map((text) => element("p", { className: "hint", textContent: text })));
  return parts;
}

/** @param {any} figures */
function progressInWords(figures) {
  const told = [];
  if (figures.milestones) told.push(figures.reached ? `It reached milestone ${figures.reached} of ${figures.milestones}: ${visible(asText(figures.furthest))}.` : `It reached none of ${counted(figures.milestones, "milestone")}.`);
  if (typeof figures.best === "number" && figures.checks) {
    const of = (/** @type {number} */ share) => `${Math.round(share * figures.checks)} of ${counted(figures.checks, "check")} held`;
    const at = figures.best_step ? `after step ${figures.best_step}` : "at the start";
    const never = figures.checks === 1 ? "Its check never held." : `None of its ${figures.checks} checks held at any time.`;
    told.push(figures.best ? `At best, ${of(figures.best)} ${at}; ${of(figures.last)} at the end.` : never);
  }
  return told;
}

/** A line of the curve: a column for each moment. @param {Course} course @param {(moment: Moment) => number | null} height from 0 to 1; null if it is not known */
function drawCourse(course, height) {
  const count = course.moments.length;
  const svg = drawing("svg", { viewBox: `0 0 ${count} 10`, preserveAspectRatio: "none", "aria-hidden": "true" });
  course.moments.forEach((moment, x) => {
    const share = height(moment);
    const [tall, kind] = share === null ? [0.6, "unknown"] : share ? [2 + 8 * share, "passed"] : [2, "ground"];
    svg.append(drawing("rect", { x: x + 0.06, y: share === null ? 4.7 : 10 - tall, width: 0.88, height: tall, class: kind }, drawing("title", {}, `${whenOf(moment)}${moment.note ? `: ${moment.note}` : ""}`)));
  });
  return svg;
}

/** @param {Course} course @param {number[]} places */
function shareLine(course, places) {
  const share = (/** @type {Moment} */ one) => (places.some((place) => typeof one.held[place] === "boolean") ? places.filter((place) => one.held[place] === true).length / places.length : null);
  return element("li", {}, element("span", { className: "name soft", textContent: "all together" }), drawCourse(course, share), element("span", { className: "value" }));
}

/** @param {Course} course @param {{name: string, isMilestone: boolean, place: number}} check @param {(place: number) => void} go */
function checkLine(course, check, go) {
  const heldAt = (/** @type {Moment} */ one) => (typeof one.held[check.place] === "boolean" ? Number(one.held[check.place]) : null);
  const known = course.moments.filter((one) => heldAt(one) !== null);
  const first = known.find((one) => heldAt(one));
  const last = known.findLast((one) => heldAt(one));
  const holds = known.length > 0 && last === known[known.length - 1];
  let word = known.length ? "never held" : "unknown";
  let moment = null;
  if (first && check.isMilestone) [word, moment] = [first.step ? "first held" : "held at", first];
  else if (first && holds) [word, moment] = ["has held since", sinceWhen(known, heldAt)];
  else if (last) [word, moment] = ["lost", known[known.indexOf(last) + 1]];
  const value = element("span", { className: "value" }, moment ? `${word} ` : word);
  if (moment) value.append(momentLink(moment, go));
  return element("li", {}, element("bdi", { className: "name", title: check.name, textContent: check.name }), drawCourse(course, heldAt), value);
}

/** The moment since when a check has held without a break. @param {Moment[]} known @param {(moment: Moment) => number | null} heldAt */
function sinceWhen(known, heldAt) {
  const broken = known.findLastIndex((one) => !heldAt(one));
  return known[broken + 1];
}

/** @param {Moment} moment @param {(place: number) => void} go */
function momentLink(moment, go) {
  const place = seen.entries.findIndex((one) => one.name === `step-${moment.step}`);
  if (place < 0 || moment.isEnd) return moment.isEnd ? "the end" : "the start";
  return element("button", { type: "button", className: "to", textContent: `step ${moment.step}`, onclick: () => go(place) });
}

/** @param {Course} course */
function gapsInWords({ moments, leftOut }) {
  /** @type {Map<string, number>} */
  const notes = new Map();
  for (const { note } of moments) if (note) notes.set(note, (notes.get(note) || 0) + 1);
  const gaps = [...notes].map(([note, count]) => `Not read ${count === 1 ? "once" : `${count} times`}: ${note}.`);
  const without = leftOut.length ? [`Left out: ${leftOut.map((one) => `${one.name} (${one.why})`).join("; ")}.`] : [];
  return [...gaps, ...without];
}

/** The furthest milestone of a trial, or its share of checks. @param {Row} row */
function progressOf(row) {
  return row.progress ? row.progress[1] || percent(row.progress[0]) : "–";
}
