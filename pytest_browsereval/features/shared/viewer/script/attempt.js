// The page of an attempt: what it was about, what came of it, and its timeline.

/** What is shown. @type {{row: Row | null, details: Details | null, entries: Entry[], place: number}} */
const seen = { row: null, details: null, entries: [], place: -1 };

/** @param {string[]} names of the address */
function openItem(names) {
  const entry = /^(?:step|line|picture)-\d+$/.test(names[names.length - 1]) ? names.pop() : "";
  const key = names.join("/");
  const row = BY_KEY.get(key) || lastOf(key);
  if (!row) {
    seen.row = null;
    return gone(`This run has no attempt ${key}.`);
  }
  if (seen.row !== row) scrollTo(0, 0);
  showAttempt(row, entry || "");
}

/** The last attempt of a trial. @param {string} trial its folder */
const lastOf = (trial) => LIST.find((row) => row.key.startsWith(`${trial}/attempt-`));

/** Leaves what is open, and returns its row. */
function leaveItem() {
  const { row } = seen;
  seen.row = null;
  return row;
}

/**
 * Shows an attempt.
 * @param {Row} row @param {string} entry the name of an entry of its timeline
 */
async function showAttempt(row, entry) {
  const isNew = seen.row !== row;
  if (isNew) {
    Object.assign(seen, { row, details: null, entries: [], place: -1 });
    drawAbout(row, null);
    $("attempt").ariaBusy = "true";
    try {
      const details = await detailsOf(row);
      if (seen.row !== row) return;
      seen.details = details;
      seen.entries = details.lines.length ? entriesOf(details) : pictureEntries(row, details);
    } catch (error) {
      if (seen.row !== row) return;
      tell(error instanceof Error ? error.message : String(error));
      $("attempt").ariaBusy = "false";
      return;
    }
    drawAbout(row, seen.details);
    drawTimeline();
    findChosen(seen.entries);
  }
  if (!seen.details) return;
  const named = seen.entries.findIndex((one) => one.name === entry);
  if (entry && named < 0) tell(`This attempt has no ${entry.replace("-", " ")}.`);
  openEntry(named >= 0 ? named : placeToOpen(seen.entries), named >= 0);
  $("attempt").ariaBusy = "false";
}

/** The entry that is open at first: what was searched for, the first wrong step, or the last one. @param {Entry[]} entries */
function placeToOpen(entries) {
  const last = entries.findLastIndex((one) => one.number !== null);
  const wrong = seen.details?.cause?.step ?? null;
  const first = wrong === null ? -1 : entries.findIndex((one) => one.number === wrong);
  return nextHit(-1, 1) ?? (first >= 0 ? first : last >= 0 ? last : entries.length - 1);
}

/** @param {Row} row */
function nameOf(row) {
  const more = [];
  if (row.variant !== "default") more.push(row.variant);
  if (row.trial > 1 || many("trial")) more.push(`trial ${row.trial}`);
  if (row.attempt > 1 || !row.tries) more.push(`attempt ${row.attempt}`);
  return row.id + (more.length ? ` (${more.join(", ")})` : "");
}

/** @param {Row} row @param {Details | null} details */
function drawAbout(row, details) {
  const data = details ? details.metadata : {};
  tell("");
  document.title = `${nameOf(row)} · ${row.verdict}`;
  $("attempt-name").textContent = nameOf(row);
  $("attempt-verdict").replaceChildren(badge(row.verdict));
  given($("query"), asText(data.query) || row.query, details ? "No task." : "…");
  given($("answer"), asText(data.final_answer ?? ""), details ? "No answer was given." : "…");
  given($("reason"), asText(data.reason) || details?.problem || row.reason, "");
  fill($("facts"), [
    ...factsOf(row, details),
    ...attackFacts(row, details),
    ["Cause", details?.cause ? causeOf(row, details.cause) : row.cause],
    ["Site", row.site],
    ["Tags", row.tags.join(", ")],
    ["Started", moment(row.started)],
    ...(DATA.keys || []).map((/** @type {string[]} */ [label, name]) => /** @type {[string, Child]} */ ([label, keyInWords(data[name])])),
    ["Other attempts", linksTo(triesOf(row), (other) => `attempt ${other.attempt}: ${other.verdict}`)],
    ["Repeats", repeatsInWords(row)],
    ["Other trials", linksTo((BY_TASK.get(taskOf(row.id, row.variant)) || []).filter((other) => other.trial !== row.trial), (other) => `trial ${other.trial}: ${other.verdict}`)],
    ["Quarantine", quarantineInWords(row)],
    ["Protected", data.protected ? "the row’s benchmark asks that its attempts are not published" : null],
    ["Files", filesOf(row, details)],
  ]);
  $("grades").replaceChildren(...(details ? gradeParts(row, details) : []));
  drawFindings($("findings"), details);
  $("progress-parts").replaceChildren(...progressParts(details, goTo));
  $("progress").hidden = !$("progress-parts").children.length;
  drawTurns(row);
}

/** The value of a key of the record; nothing where there is none. @param {any} value */
const keyInWords = (value) => (value === true ? "yes" : Array.isArray(value) ? value.join(", ") : value ? asText(value.reason || value) : "");

/** @param {Row} row @param {{text: string, step: number | null}} cause */
function causeOf(row, { text, step }) {
  if (step === null) return text;
  return element("span", {}, element("bdi", { textContent: text }), " ", element("a", { href: addressOf(row, `step-${step}`), textContent: `step ${step}` }));
}

/** Other attempts of the trial. @param {Row} row */
function triesOf(row) {
  const trial = row.key.slice(0, row.key.lastIndexOf("/") + 1);
  const others = ROWS.filter((other) => other !== row && other.key.startsWith(trial) && !other.key.slice(trial.length).includes("/"));
  return others.sort((a, b) => a.attempt - b.attempt);
}

/** @param {Row[]} rows @param {(row: Row) => string} describe */
function linksTo(rows, describe) {
  if (!rows.length) return null;
  return element("span", { className: "files" }, ...rows.flatMap((other) => [element("a", { href: addressOf(other), textContent: describe(other) }), " "]));
}

/** @param {Row} row */
function repeatsInWords(row) {
  const one = repeatsOf(row);
  if (!one) return null;
  const { k } = DATA.repeats;
  const judged = `${one.stability}: ${one.passed} of ${counted(one.passed + one.failed, "judged trial")} passed`;
  const errored = one.errored ? `, ${counted(one.errored, "attempt")} errored` : "";
  return judged + errored + (one.at === null ? "" : `; pass@${k} ${percent(one.at)}, pass^${k} ${percent(one.hat)}`);
}

/** @param {Row} row */
function quarantineInWords(row) {
  const until = quarantineOf(row);
  if (until) return `until ${until}: it runs and is shown, but the gate’s rates exclude it`;
  const ended = dayOf(DATA.quarantine.over, row);
  return ended ? `ended on ${ended}: it counts again` : null;
}

// -- the timeline

function drawTimeline() {
  const { entries } = seen;
  $("timeline-box").append($("detail")); // in a narrow window it stands in one of the lines
  $("entries").replaceChildren(...entries.map((entry, place) => entryLine(entry, () => goTo(place))));
  $("timeline-box").hidden = !entries.length;
  const { row, details } = seen;
  $("no-entries").hidden = Boolean(details?.lines.length);
  $("no-entries").textContent = details?.leftOut ? leftOutInWords(details) : entries.length ? "No message is recorded." : "Nothing is recorded.";
  $("records").replaceChildren(...(row && details ? recordParts(row, details, entries, goTo) : []));
  $("records").hidden = !$("records").children.length;
  $("detail").replaceChildren();
  if (row && details) drawStrip(row, entries, details, goTo);
  $("find-box").hidden = !details?.lines.length;
}

/** @param {Details} details */
function leftOutInWords({ leftOut, pictures, metadata }) {
  if (metadata.protected) return `The message log of this attempt (${bytes(leftOut)}) is left out, because its row is protected.`;
  const size = `The message log of this attempt (${bytes(leftOut)}) is left out of this page, which would have become too large.`;
  return `${size} The steps${pictures.size ? ", and pictures that are not here," : ""} are in the run’s folder, or in a page with a larger --max-mb.`;
}

/** @param {number} place */
function goTo(place) {
  const { row, entries } = seen;
  if (!row || !entries[place]) return;
  history.replaceState(null, "", addressOf(row, entries[place].name));
  openEntry(place, true);
}

/** @param {number} place @param {boolean} follows whether it is brought into view */
function openEntry(place, follows) {
  const { row, details, entries } = seen;
  if (!row || !details || !entries[place]) return;
  const lines = $("entries").children;
  lines[seen.place]?.querySelector("button").removeAttribute("aria-current");
  seen.place = place;
  const line = lines[place];
  line.querySelector("button").setAttribute("aria-current", "step");
  const body = entryBody(row, entries[place], details);
  const title = element("div", { className: "title" }, copyButton("Copy link", () => addressOf(row, entries[place].name)));
  title.prepend(body.firstElementChild);
  body.prepend(title);
  $("detail").replaceChildren(body);
  putDetail();
  markStrip(entries, place);
  if (follows) bringIntoView(line);
}

/** @param {Element} line of the timeline */
function bringIntoView(line) {
  line.scrollIntoView({ block: "nearest" });
  const top = $("timeline-box").getBoundingClientRect().top;
  if (!narrow.matches && (top < 0 || top > innerHeight / 4)) $("timeline-box").scrollIntoView({ block: "start" });
}

/** Puts what is open next to the timeline, or below its line where the window is narrow. */
function putDetail() {
  const line = $("entries").children[seen.place];
  if (narrow.matches && line) line.append($("detail"));
  else $("timeline-box").append($("detail"));
}

/** @param {number} by */
function moveStep(by) {
  goTo(Math.max(0, Math.min(seen.place + by, seen.entries.length - 1)));
}

/** @param {number} by */
function moveHit(by) {
  const place = nextHit(seen.place, by);
  if (place !== undefined) goTo(place);
}

/** @param {boolean} isBefore */
function turnPicture(isBefore) {
  const hadFocus = $("detail").querySelector(".turns")?.contains(document.activeElement);
  showsBefore = isBefore;
  openEntry(seen.place, false);
  if (hadFocus) $("detail").querySelector(`.turns [aria-pressed="true"]`)?.focus();
}

/** @type {Record<string, () => void>} */
const ITEM_KEYS = {
  ArrowUp: () => moveStep(-1),
  ArrowDown: () => moveStep(1),
  Home: () => goTo(0),
  End: () => goTo(seen.entries.length - 1),
  ArrowLeft: () => turn(seen.row, -1),
  ArrowRight: () => turn(seen.row, 1),
  f: () => turn(seen.row, 1, true),
  F: () => turn(seen.row, -1, true),
  b: () => turnPicture(!showsBefore),
  n: () => moveHit(1),
  N: () => moveHit(-1),
  c: () => $("detail").querySelector(".copy")?.click(),
  "/": () => $("find").focus(),
};

/** @type {Record<string, () => void>} */
const LIST_KEYS = {
  f: () => choose("kind", choice.kind === "failed" ? "" : "failed"),
  e: () => choose("kind", choice.kind === "errored" ? "" : "errored"),
};

const itemRow = () => seen.row;
const onNarrow = putDetail;

/** Draws what does not depend on the choice. */
function drawOnce() {
  $("copy-attempt").replaceWith(copyButton("Copy link", () => (seen.row ? addressOf(seen.row) : "")));
  $("find").oninput = () => find($("find").value, seen.entries);
  $("find-box").onsubmit = (/** @type {Event} */ event) => {
    event.preventDefault();
    moveHit(1);
  };
  $("next-hit").onclick = () => moveHit(1);
  if (!HAS_TEXTS) $("search").placeholder = "Task, reason, tag …";
  $("plots-box").open = LIST.length >= FEWEST_PLOTTED && innerHeight >= TALL_PX && !narrow.matches; // rows first
  drawSummary();
  drawAttacks();
  drawGate();
}
