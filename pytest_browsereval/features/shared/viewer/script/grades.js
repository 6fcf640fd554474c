// What the graders say of an attempt: criteria, reasons, evidence, and what judges replied.

/** @param {Row} row @param {Details} details */
function gradeParts(row, details) {
  const grades = Object.values(details.metadata.grader_results || {});
  if (!grades.length) return [element("p", { className: "none", textContent: row.verdict === "errored" ? "The attempt broke before grading." : "No grade." })];
  return grades.map((grade) => gradePart(row, grade, details));
}

/** @param {Row} row @param {any} grade @param {Details} details */
function gradePart(row, grade, details) {
  const score = grade.score === null || grade.score === undefined ? "no score" : `score ${Number(grade.score.toFixed?.(3) ?? grade.score)}`;
  const box = element("details", { className: "grade", open: grade.verdict !== "passed" });
  box.append(element("summary", {}, badge(asText(grade.verdict)), " ", element("bdi", { textContent: asText(grade.grader) }), element("span", { className: "soft", textContent: ` ${score}${grade.advisory ? ", advisory" : ""}` })));
  const reason = shownReason(details);
  const why = unsaid(asText(grade.reasoning ?? ""), reason);
  if (why) box.append(element("p", { className: "given", textContent: why.slice(0, LONGEST_TEXT) }));
  const trace = tracebackOf(grade);
  if (trace) box.append(trace);
  if (grade.criteria?.length) box.append(criteriaTable(grade, reason));
  box.append(...evidenceParts(row, grade.evidence || [], details));
  const { traceback, ...kept } = grade.details || {};
  if (Object.keys(kept).length) {
    const more = element("details", {}, element("summary", { textContent: "Details (including judge responses)" }));
    more.append(...textBox("Details", asText(kept)).slice(1));
    box.append(more);
  }
  const facts = element("dl");
  fill(facts, [
    ["Fingerprint", asText(grade.fingerprint)],
    ["Tokens", tokens(grade.usage)],
    ["Time", typeof grade.duration_ms === "number" ? time(grade.duration_ms) : null],
  ]);
  if (facts.children.length) box.append(facts);
  return box;
}

/** What a text says besides its first line, where that stands in the reason. @param {string} text @param {string} reason */
function unsaid(text, reason) {
  const [first, ...rest] = text.trim().split("\n");
  return isSaid(first, reason) ? rest.join("\n").trim() : text;
}

/** @param {any} grade @param {string} said what the page says above */
function criteriaTable(grade, said) {
  const valued = grade.criteria.some((/** @type {any} */ one) => one.expected !== null || one.actual !== null);
  const head = ["Criterion", ...(valued ? ["Expected", "Actual"] : [])];
  const lines = grade.criteria.map((/** @type {any} */ one) => {
    const mark = element("span", { className: "mark", "data-verdict": asText(one.verdict), title: asText(one.verdict) }, element("span", { ariaHidden: "true", textContent: MARKS[one.verdict] || "?" }), element("span", { className: "unseen", textContent: asText(one.verdict) }));
    const reason = one.reason && !isSaid(asText(one.reason), said, asText(grade.reasoning ?? "")) ? element("span", { className: "soft reason", textContent: brief(asText(one.reason), 1000) }) : null;
    const name = element("td", {}, mark, " ", element("bdi", { textContent: brief(asText(one.name), 600) }), reason);
    return element("tr", {}, name, ...(valued ? [one.expected, one.actual].map((value) => element("td", {}, element("bdi", { textContent: brief(asText(value), 600) }))) : []));
  });
  const table = element("table", { className: "criteria" });
  table.append(element("caption", { className: "unseen", textContent: `Criteria of ${asText(grade.grader)}` }));
  table.append(element("thead", {}, element("tr", {}, ...head.map((title) => element("th", { scope: "col", textContent: title })))), element("tbody", {}, ...lines));
  return element("div", { className: "scrolls", tabIndex: 0, role: "group", ariaLabel: `Criteria of ${brief(asText(grade.grader), 60)}` }, table);
}

/** Pictures that a grade rests on, small; other files by their names. @param {Row} row @param {string[]} evidence @param {Details} details */
function evidenceParts(row, evidence, details) {
  if (!Array.isArray(evidence) || !evidence.length) return [];
  const names = new Set(details.pictures.values());
  const own = evidence.map((file) => [asText(file), asText(file).replace(/^screenshots\//, "")]);
  const pictures = own.filter(([file, name]) => file !== name && names.has(name)).map(([file, name]) => pictureOf(row, name, `Evidence: ${file}`, []));
  const others = own.filter(([file, name]) => file === name || !names.has(name)).map(([file]) => fileLink(row, file, details));
  const parts = [element("h4", { textContent: "Evidence" })];
  if (pictures.length) parts.push(element("div", { className: "strip" }, ...pictures));
  if (others.length) parts.push(element("p", { className: "files" }, ...others.flatMap((one) => [one, " "])));
  return parts;
}

/** What opens in a browser as text or as a download, and runs nothing. */
const HARMLESS = /\.(?:jsonl?|har|zip|txt|log|ya?ml|csv|png|jpe?g|webp)$/i;

/** A file of the attempt, as a link if it is there and harmless. @param {Row} row @param {string} name @param {Details} details */
function fileLink(row, name, details) {
  if (row.run.alone || !details.files.includes(name) || !HARMLESS.test(name)) return element("bdi", { textContent: name });
  return element("a", { href: way(row, name), target: "_blank", rel: "noopener" }, element("bdi", { textContent: name }));
}
