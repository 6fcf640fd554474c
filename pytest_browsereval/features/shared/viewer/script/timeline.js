// What happened in an attempt, in its order: messages, a tool call and its result as one entry.

/**
 * @typedef {{kind: string, name: string, depth: number, title: string, brief: string, number: number | null,
 *   message: any, result: any, thought: string, failed: string, ms: number | null, picture: number | null,
 *   before: number | null, said: Said[], asked: Asked[], text: string, mark: string, isMoved: boolean}} Entry
 */

/** @param {Details} details @returns {Entry[]} */
function entriesOf(details) {
  const results = new Map(details.lines.filter((one) => one.type === "tool_result").map((one) => [one.toolCallId, one]));
  const calls = new Set(details.lines.filter((one) => one.type === "tool_call").map((one) => one.toolCallId));
  /** @type {Map<string, number>} */
  const depths = new Map();
  /** @type {Entry[]} */
  const entries = [];
  const state = { step: 0, url: asText(details.metadata.start_url ?? ""), thought: "", picture: details.pictures.has(START) ? START : /** @type {number | null} */ (null) };
  const attack = attackOf(details);
  const drawn = new Set(details.lines.map((one) => one.screenshot));
  details.lines.forEach((message, place) => {
    if (message.type === "tool_result" && calls.has(message.toolCallId)) return;
    const entry = entryOf(message, place, depths.get(message.parent_id) || 0, results);
    if (message.type === "delegation" && message.span_id) depths.set(message.span_id, entry.depth + 1);
    if (message.type === "tool_call") {
      state.step += 1;
      const own = entry.picture === null ? START : entry.picture - 1; // of its own where pictures are taken before steps too
      const before = own > START && !drawn.has(own) && details.pictures.has(own) ? own : state.picture;
      Object.assign(entry, { number: state.step, name: `step-${state.step}`, thought: state.thought, before, mark: attackMark(attack, state.step) });
      state.thought = "";
    }
    if (entry.picture !== null) state.picture = entry.picture;
    if (entry.result?.url) {
      entry.isMoved = state.url !== "" && state.url !== entry.result.url;
      state.url = entry.result.url;
    }
    if (message.type === "assistant") state.thought = asText(message.content);
    entries.push(entry);
  });
  if (entries[0]) entries[0].mark ||= attackMark(attack, 0);
  placeEnds(entries, details, drawn);
  placeRecords(entries, details.records);
  return entries;
}

/** What stands for a timeline where there is no log: the pictures that are there. @param {Row} row @param {Details} details @returns {Entry[]} */
function pictureEntries(row, details) {
  const shown = [...details.pictures].filter(([, file]) => !row.run.alone || insideOf(row, file)).sort(([a], [b]) => a - b);
  return shown.map(([number], place) => {
    const title = number === START ? "Start" : `Picture ${number}`;
    return { ...entryOf({ type: "picture" }, place, 0, new Map()), kind: "picture", name: `picture-${number}`, title, brief: "", picture: number };
  });
}

/** Gives the pictures of the start and of the end to the first and the last entry. @param {Entry[]} entries @param {Details} details @param {Set<number>} drawn */
function placeEnds(entries, details, drawn) {
  const [first, last] = [entries[0], entries[entries.length - 1]];
  const end = Math.max(...details.pictures.keys());
  if (first?.number === null && details.pictures.has(START)) first.picture = START;
  if (last?.picture === null && end > START && !drawn.has(end)) last.picture = end;
}

/**
 * @param {any} message @param {number} place @param {number} depth @param {Map<any, any>} results
 * @returns {Entry}
 */
function entryOf(message, place, depth, results) {
  const result = message.type === "tool_call" ? results.get(message.toolCallId) : message.type === "tool_result" ? message : null;
  const kind = Object.hasOwn(HEADINGS, message.type) ? String(message.type) : "other";
  const [title, text] = HEADINGS[kind](message);
  const ms = result ? result.duration_ms : message.duration_ms;
  return {
    kind,
    name: `line-${place + 1}`,
    depth,
    title: brief(asText(title), 60),
    brief: brief(asText(text)),
    number: null,
    message,
    result,
    thought: "",
    failed: message.type === "tool_call" && !result ? "no result" : result?.isError ? "failed" : "",
    ms: typeof ms === "number" ? ms : null,
    picture: typeof result?.screenshot === "number" ? result.screenshot : null,
    before: null,
    said: [],
    asked: [],
    text: "",
    mark: "",
    isMoved: false,
  };
}

/** Title and text of a message in the timeline. @type {Record<string, (message: any) => [any, any]>} */
const HEADINGS = {
  user: (message) => ["Prompt", message.content],
  assistant: (message) => ["Model", message.content],
  tool_call: (message) => [message.tool, argumentsInLine(message.params)],
  tool_result: (message) => ["Result without a call", outputOf(message.result)],
  error: (message) => [`Error${message.errorCode ? `: ${message.errorCode}` : ""}`, message.content],
  delegation: (message) => ["Delegated", message.instruction],
  delegation_result: (message) => [`Reported: ${message.status}`, message.summary],
  damaged: (message) => ["Damaged line", message.content],
  other: (message) => ["Unknown message", JSON.stringify(message)],
};

/** @param {any} params */
function argumentsInLine(params) {
  if (params === null || typeof params !== "object") return asText(params);
  return Object.entries(params).map(([name, value]) => `${name}: ${typeof value === "string" ? value : JSON.stringify(value)}`).join(", ");
}

/** What a tool said; the text of an outcome {ok, output}. @param {any} result */
function outputOf(result) {
  const isOutcome = result !== null && typeof result === "object" && !Array.isArray(result) && "output" in result;
  return asText(isOutcome ? result.output : result);
}

/** A line of the timeline. @param {Entry} entry @param {() => void} open */
function entryLine(entry, open) {
  const button = element("button", { type: "button", onclick: open, "data-kind": entry.kind });
  const failed = entry.failed ? element("span", { className: "failed", textContent: entry.failed }) : null;
  const errors = entry.said.filter((one) => one.isError).length;
  const said = errors ? element("span", { className: "failed", textContent: counted(errors, "error") }) : entry.said.length ? element("span", { className: "soft", textContent: `console ${entry.said.length}` }) : null;
  button.append(
    element("span", { className: "number", textContent: entry.number === null ? "" : String(entry.number) }),
    element("span", { className: "what" }, element("bdi", { className: "tool", textContent: entry.title }), " ", element("bdi", { className: "brief", textContent: entry.brief })),
    element("span", { className: "side" }, ...[attackBadge(entry.mark), said, failed, entry.ms === null ? null : element("span", { className: "soft", textContent: time(entry.ms) })].filter(Boolean)),
  );
  const line = element("li", {}, button);
  line.style.setProperty("--depth", String(Math.min(entry.depth, 6)));
  return line;
}

/** All of an entry. @param {Row} row @param {Entry} entry @param {Details} details */
function entryBody(row, entry, details) {
  const { message, result } = entry;
  const named = entry.number === null ? entry.title : `Step ${entry.number}: ${entry.title}`;
  const body = element("article", { className: "step", ariaLabel: named }, element("h3", {}, element("bdi", { textContent: named })));
  if (entry.failed) body.querySelector("h3").append(" ", element("span", { className: "failed", textContent: entry.failed }));
  if (entry.mark) body.querySelector("h3").append(" ", attackBadge(entry.mark));
  body.append(...pictureParts(row, entry, details));
  if (entry.kind === "picture") return body;
  if (entry.kind === "tool_call" || entry.kind === "tool_result") {
    if (entry.thought) body.append(...textBox("The model said", entry.thought));
    if (message.params && Object.keys(message.params).length) body.append(...textBox("Arguments", argumentsText(message.params)));
    body.append(...(result ? textBox("Result", outputOf(result.result), result.isError ? "bad" : "") : [element("p", { className: "none", textContent: "The attempt ended before the result." })]));
  } else if (entry.kind === "other" || entry.kind === "damaged") {
    body.append(...textBox(entry.kind === "other" ? "A message of a kind that this page does not know" : "This line of messages.jsonl is not a message", asText(entry.kind === "other" ? message : message.content), "bad"));
  } else {
    const text = asText(message.content ?? message.instruction ?? message.summary);
    body.append(...(text ? textBox(BODIES[entry.kind], text, entry.kind === "error" ? "bad" : "") : [element("p", { className: "none", textContent: "No text." })]));
  }
  body.append(...recordsOfEntry(entry));
  const facts = element("dl");
  const url = result?.url ?? message.currentUrl;
  fill(facts, [
    ["Page", url ? webAddress(asText(url)) : null],
    ["Markup", typeof result?.dom === "number" ? markupLink(row, `${String(result.dom).padStart(3, "0")}.html`, details) : null],
    ["Time", entry.ms === null ? null : time(entry.ms)],
    ["Tokens", tokens(message.usage)],
    ["At", moment(asText(message.timestamp))],
    ["Executor", asText(message.executorId)],
    ["Most steps", asText(message.maxSteps)],
    ["Steps used", asText(message.stepsUsed)],
  ]);
  body.append(facts);
  return body;
}

const BODIES = /** @type {Record<string, string>} */ ({ user: "What the agent read", assistant: "What the model said", error: "What broke", delegation: "Instruction", delegation_result: "Report" });

/** Arguments a line each; JSON only where they are nested. @param {any} params */
function argumentsText(params) {
  if (params === null || typeof params !== "object" || Array.isArray(params)) return asText(params);
  return Object.entries(params).map(([name, value]) => `${name}: ${asText(value)}`).join("\n");
}

/** Whether the page before a step is shown instead of the one after it. */
let showsBefore = false;

/** @param {Row} row @param {Entry} entry @param {Details} details */
function pictureParts(row, entry, details) {
  const after = entry.picture === null ? undefined : details.pictures.get(entry.picture);
  const before = entry.before === null ? undefined : details.pictures.get(entry.before);
  if (entry.picture !== null && !after) return [element("p", { className: "none", textContent: `Picture ${entry.picture} was taken, but is missing.` })];
  if (!after && !before) return [];
  const isBefore = Boolean(before && (showsBefore || !after));
  const points = pointsOf(entry);
  const when = entry.picture === START ? "at the start" : entry.kind === "picture" ? `in picture ${entry.picture}` : entry.number === null ? "at the end" : `${isBefore ? "before" : "after"} step ${entry.number}`;
  const marked = isMarked(entry, isBefore) ? points : [];
  const parts = [pictureOf(row, String(isBefore ? before : after), `The page ${when}`, marked, isWay(entry))];
  if (before && after) parts.unshift(beforeAfter(isBefore));
  if (before && after && points.length && !marked.length && isMarked(entry, !isBefore)) parts.push(element("p", { className: "hint", textContent: `${isBefore ? "After" : "Before"} shows where this step acted.` }));
  else if (before && !after) parts.push(element("p", { className: "hint", textContent: "No picture of its own; this is the page before it." }));
  return parts;
}

/** @param {boolean} isBefore */
function beforeAfter(isBefore) {
  const one = (/** @type {string} */ text, /** @type {boolean} */ own) =>
    element("button", { type: "button", textContent: text, ariaPressed: String(own === isBefore), onclick: () => turnPicture(own) });
  return element("div", { className: "turns", role: "group", ariaLabel: "Which picture" }, one("Before", true), one("After", false));
}
