// Search in what is not in the table: answers, messages, steps with their arguments and results, output and console.
// It lies in the scripts with details, which are read one by one; what they say is not kept, as it would fill the memory.

/** Keys of a message whose values nobody searches for. */
const UNSEARCHED = new Set(["type", "timestamp", "toolCallId", "span_id", "parent_id", "executorId", "duration_ms", "usage", "screenshot", "dom", "isError"]);

/** All texts and numbers in a value. @param {any} value @param {string[]} [found] @returns {string[]} */
function wordsIn(value, found = []) {
  if (typeof value === "string") found.push(value);
  else if (typeof value === "number") found.push(String(value));
  else if (Array.isArray(value)) for (const one of value) wordsIn(one, found);
  else if (value !== null && typeof value === "object")
    for (const [key, one] of Object.entries(value)) if (!UNSEARCHED.has(key)) wordsIn(one, found);
  return found;
}

/** What is looked for, and how far that is. */
const texts = { words: /** @type {string[]} */ ([]), turn: 0, done: 0, of: 0, unread: 0, partly: 0, isShort: false, timer: 0, found: /** @type {Map<any, Map<string, string>>} */ (new Map()) };

/** Whether a text of an item, such as a step of an attempt, has a word. @param {any} item @param {string} word */
const isInTexts = (item, word) => texts.found.get(item)?.has(word) || false;

/** Where a word stands that the table does not have. @param {any} item @returns {[string, string, string] | null} before, the word, after */
function excerptOf(item) {
  const [first] = texts.found.get(item) || [];
  if (!first) return null;
  const [word, around] = first;
  const place = around.toLowerCase().indexOf(word);
  return [around.slice(0, place), around.slice(place, place + word.length), around.slice(place + word.length)];
}

/** Whether what is not found yet may still be found. */
const isSearching = () => texts.words.length > 0 && (!texts.of || texts.done < texts.of);

/** Begins to search when the words are others than before. @param {string[]} words */
function searchTexts(words) {
  const wanted = HAS_TEXTS && words.every((word) => word.length > 1) ? words : [];
  texts.isShort = HAS_TEXTS && words.length > 0 && !wanted.length;
  if (wanted.join(" ") === texts.words.join(" ")) return;
  clearTimeout(texts.timer);
  Object.assign(texts, { words: wanted, turn: texts.turn + 1, done: 0, of: 0, unread: 0, partly: 0, found: new Map() });
  tellSearched();
  if (wanted.length) texts.timer = setTimeout(() => readTexts(texts.turn), 250); // the user may still be typing
}

/** @param {number} turn of the search; another one ends it */
async function readTexts(turn) {
  const scripts = new Map();
  for (const item of LIST)
    for (const row of attemptsOf(item)) {
      const name = `${row.run.side} ${row.chunk}`;
      if (!scripts.has(name)) scripts.set(name, []);
      scripts.get(name).push([item, row]);
    }
  texts.of = [...scripts.values()].reduce((sum, own) => sum + own.length, 0);
  let drawn = performance.now();
  for (const own of scripts.values()) {
    const [, { run, chunk }] = own[0];
    const isRead = own.some((/** @type {[any, Row]} */ [, row]) => keptOf(row)) || (await load(run, chunk).then(() => true, () => false));
    if (texts.turn !== turn) return;
    for (const [item, row] of own) searchAttempt(item, isRead ? keptOf(row) : undefined);
    texts.done += own.length;
    if (performance.now() - drawn < 300) continue;
    drawFound();
    drawn = performance.now();
    await new Promise((done) => setTimeout(done)); // what one types and clicks has its turn
    if (texts.turn !== turn) return;
  }
  drawFound();
}

/** Draws the list, unless one has gone on from it: then it is drawn when one is back. */
const drawFound = () => $("overview").hidden || redraw();

/** @param {any} item of the list @param {any[] | undefined} raw details of one of its attempts */
function searchAttempt(item, raw) {
  if (!raw) return void (texts.unread += 1);
  const [metadata, log, , , leftOut, , records] = raw;
  if (leftOut || records?.note) texts.partly += 1;
  const { query, final_answer: answer, reason, errors, warnings, grader_results: grades } = tryParse(metadata) || {};
  const lines = log.split("\n").map(line);
  const all = wordsIn([query, answer, reason, errors, warnings, grades, lines, records?.output, records?.console, records?.har]).join("\n");
  const low = all.toLowerCase();
  for (const word of texts.words) {
    const place = low.indexOf(word);
    if (place < 0 || textOf(item).includes(word)) continue;
    if (!texts.found.has(item)) texts.found.set(item, new Map());
    /** @type {any} */ (texts.found.get(item)).set(word, brief(all.slice(Math.max(0, place - 30), place + 120), 150));
  }
}

function tellSearched() {
  const { words, done, of, unread, partly, isShort } = texts;
  const whole = of.toLocaleString("en");
  const all = isSearching() ? `searched ${done.toLocaleString("en")} of ${of ? whole : "…"}` : `steps, answers and output of all ${whole} searched`;
  const less = (partly ? `, without what this page leaves out of ${partly.toLocaleString("en")}` : "") + (unread ? `; ${unread.toLocaleString("en")} cannot be read` : "");
  const short = isShort ? "· steps, answers and output are searched for words of two characters or more" : "";
  $("searched").textContent = words.length ? `· ${all}${less}` : short;
}
