// What an attempt was about and what came of it.

/** @param {any} target @param {string} text @param {string} otherwise */
function given(target, text, otherwise) {
  target.textContent = text ? text.slice(0, LONGEST_TEXT) : otherwise;
  target.classList.toggle("none", !text);
}


/** Whether one of the others says it already. @param {string} text @param {...string} others */
const isSaid = (text, ...others) => text.trim() !== "" && others.some((other) => ` ${lettersOf(other)} `.includes(` ${lettersOf(text)} `));

/** A text without its punctuation: a reason puts a limit into brackets, an error after a colon. @param {string} text */
const lettersOf = (text) => text.replace(/[^\p{L}\p{N}\p{S}]+/gu, " ").trim();

/** The traceback that is kept of an error or a grade, if there is one. @param {any} found */
function tracebackOf(found) {
  const text = found?.details?.traceback;
  if (typeof text !== "string" || !text) return null;
  return element("details", { className: "record", open: true }, element("summary", { textContent: "Traceback" }), element("pre", { className: "scrolls", tabIndex: 0, textContent: visible(text.trimEnd()).slice(0, 2 * LONGEST_TEXT) }));
}

/** The reason that stands at the top of the page. @param {Details | null} details */
const shownReason = (details) => asText(details?.metadata.reason ?? "");

/** Errors and warnings, without what the reason says already. @param {any} list @param {Details | null} details */
function drawFindings(list, details) {
  const one = (/** @type {string} */ kind) => (/** @type {any} */ found) => {
    const message = asText(found.message);
    const trace = tracebackOf(found);
    if (isSaid(message, shownReason(details))) return trace ? element("li", { "data-kind": kind }, trace) : null;
    return element("li", { "data-kind": kind }, element("b", { textContent: `${kind}, ${asText(found.source).replace("_", " ")}: ` }), element("bdi", { textContent: brief(message, 2000) }), trace);
  };
  const notes = (details ? details.notes : []).map((text) => element("li", { "data-kind": "note", textContent: text }));
  const problem = details?.problem ? [element("li", { "data-kind": "error", textContent: details.problem })] : [];
  const { errors, warnings } = details?.metadata || {};
  list.replaceChildren(...[...problem, ...(errors || []).map(one("error")), ...(warnings || []).map(one("warning")), ...notes].filter(Boolean));
  list.hidden = !list.children.length;
}

/** What an attempt came to. @param {Row} row @param {Details | null} details @returns {[string, Child][]} */
function factsOf(row, details) {
  const data = details ? details.metadata : {};
  const ends = [row.end.replace("_", " "), row.source ? `broken by ${row.source.replace("_", " ")}` : ""].filter(Boolean).join(", ");
  return [
    ["Ended by", ends],
    ["Duration", row.ms === null ? null : `${counted(Number(row.steps), "step")}, ${time(row.ms)}`],
    ["Agent’s time", typeof data.agent_duration_ms === "number" && data.agent_duration_ms ? time(data.agent_duration_ms) : null],
    ["Cost", data.cost_usd ? money(data.cost_usd) : data.cost_usd === null ? "unknown" : null],
    ["Tokens", tokens(data.usage)],
    ...Object.entries(data.usage_by_role || {}).map(([role, usage]) => /** @type {[string, Child]} */ ([`  of ${brief(role, 40)}`, tokens(usage)])),
    ["Start page", data.start_url ? webAddress(asText(data.start_url)) : null],
    ["Last page", data.final_url ? webAddress(asText(data.final_url)) : null],
  ];
}

/** @param {Row} row @param {Details | null} details */
const filesOf = (row, details) => (details && details.files.length ? element("span", { className: "files" }, ...details.files.flatMap((name) => [fileLink(row, name, details), " "])) : null);

/** A time in UTC, to the second. @param {string} text */
const moment = (text) => text.replace("T", " ").replace(/(?:\.\d+)?Z$/, " UTC");
