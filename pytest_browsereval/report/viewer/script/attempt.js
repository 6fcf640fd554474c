// The page of an attempt: what it was about, what came of it, and its timeline.

/** What is shown. @type {{row: Row | null, details: Details | null, entries: Entry[], place: number}} */
const seen = { row: null, details: null, entries: [], place: -1 };

const narrow = matchMedia("(max-width: 900px)");

/** @param {Row} row @param {string} [entry] */
const addressOf = (row, entry) => `#/${[...row.key.split("/"), ...(entry ? [entry] : [])].map(encodeURIComponent).join("/")}`;

/** @param {Row} row */
function nameOf(row) {
  const more = [];
  if (row.variant !== "default") more.push(row.variant);
  if (row.trial > 1 || many("trial")) more.push(`trial ${row.trial}`);
  if (row.attempt > 1 || !row.tries) more.push(`attempt ${row.attempt}`);
  return row.id + (more.length ? ` (${more.join(", ")})` : "");
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
      seen.entries = entriesOf(details);
    } catch (error) {
      if (seen.row !== row) return;
      tell(error instanceof Error ? error.message : String(error));
      $("attempt").ariaBusy = "false";
      return;
    }
    drawAbout(row, seen.details);
    drawTimeline();
  }
  if (!seen.details) return;
  const named = seen.entries.findIndex((one) => one.name === entry);
  const last = seen.entries.findLastIndex((one) => one.number !== null);
  if (entry && named < 0) tell(`This attempt has no ${entry.replace("-", " ")}.`);
  openEntry(named >= 0 ? named : last >= 0 ? last : seen.entries.length - 1, named >= 0);
  $("attempt").ariaBusy = "false";
}

/** @param {string} problem */
function tell(problem) {
  $("problem").textContent = problem;
  $("problem").hidden = !problem;
}

/** @param {Row} row @param {Details | null} details */
function drawAbout(row, details) {
  const data = details ? details.metadata : {};
  tell("");
  document.title = `${nameOf(row)} · ${row.verdict}`;
  $("attempt-name").textContent = nameOf(row);
  $("attempt-verdict").replaceChildren(badge(row.verdict));
  given($("query"), asText(data.query) || row.query, details ? "No task." : "…");
  given($("answer"), asText(data.final_answer ?? ""), details ? "It gave no answer." : "…");
  given($("reason"), asText(data.reason) || details?.problem || row.reason, "");
  const ends = [row.end.replace("_", " "), row.source ? `broken by ${row.source.replace("_", " ")}` : ""].filter(Boolean).join(", ");
  fill($("facts"), [
    ["Ended", ends],
    ["Took", row.ms === null ? null : `${counted(Number(row.steps), "step")}, ${time(row.ms)}`],
    ["Agent's part", typeof data.agent_duration_ms === "number" && data.agent_duration_ms ? time(data.agent_duration_ms) : null],
    ["Cost", data.cost_usd ? money(data.cost_usd) : data.cost_usd === null ? "not known" : null],
    ["Tokens", tokens(data.usage)],
    ...Object.entries(data.usage_by_role || {}).map(([role, usage]) => /** @type {[string, Child]} */ ([`  of ${brief(role, 40)}`, tokens(usage)])),
    ["Start page", data.start_url ? webAddress(asText(data.start_url)) : null],
    ["Ended at", data.final_url ? webAddress(asText(data.final_url)) : null],
    ["Site", row.site],
    ["Tags", row.tags.join(", ")],
    ["Begun", row.started.replace("T", " ").replace(/\.\d+Z$/, " UTC")],
    ["Graded again", asText(data.regraded_at ?? "")],
    ["Other tries", triesOf(row)],
    ["Files", details && details.files.length ? element("span", { className: "files" }, ...details.files.flatMap((name) => [fileLink(row, name, details), " "])) : null],
  ]);
  $("grades").replaceChildren(...(details ? gradeParts(row, details) : []));
  drawFindings(data, details);
  drawTurns(row);
}

/** @param {any} target @param {string} text @param {string} otherwise */
function given(target, text, otherwise) {
  target.textContent = text ? text.slice(0, LONGEST_TEXT) : otherwise;
  target.classList.toggle("none", !text);
}

/** Links to other attempts of the trial. @param {Row} row */
function triesOf(row) {
  const trial = row.key.slice(0, row.key.lastIndexOf("/") + 1);
  const others = ROWS.filter((other) => other !== row && other.key.startsWith(trial) && !other.key.slice(trial.length).includes("/"));
  if (!others.length) return null;
  const links = others.sort((a, b) => a.attempt - b.attempt).flatMap((other) => [element("a", { href: addressOf(other), textContent: `attempt ${other.attempt}: ${other.verdict}` }), " "]);
  return element("span", {}, ...links);
}

/** Errors and warnings. @param {any} data @param {Details | null} details */
function drawFindings(data, details) {
  const one = (/** @type {string} */ kind) => (/** @type {any} */ found) =>
    element("li", { "data-kind": kind }, element("b", { textContent: `${kind}, ${asText(found.source).replace("_", " ")}: ` }), element("bdi", { textContent: brief(asText(found.message), 2000) }));
  const notes = (details ? details.notes : []).map((text) => element("li", { "data-kind": "note", textContent: text }));
  const problem = details?.problem ? [element("li", { "data-kind": "error", textContent: details.problem })] : [];
  $("findings").replaceChildren(...problem, ...(data.errors || []).map(one("error")), ...(data.warnings || []).map(one("warning")), ...notes);
  $("findings").hidden = !$("findings").children.length;
}

// -- the timeline

function drawTimeline() {
  const { entries } = seen;
  $("entries").replaceChildren(...entries.map((entry, place) => entryLine(entry, () => goTo(place))));
  $("no-entries").hidden = entries.length > 0;
  $("timeline-box").hidden = !entries.length;
  $("detail").replaceChildren();
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
  $("detail").replaceChildren(entryBody(row, entries[place], details));
  putDetail();
  if (follows) bringIntoView(line);
}

/** @param {Element} line of the timeline */
function bringIntoView(line) {
  line.scrollIntoView({ block: "nearest" });
  const top = $("timeline-box").getBoundingClientRect().top;
  if (!narrow.matches && (top < 0 || top > innerHeight / 4)) $("timeline-box").scrollIntoView({ block: "start" });
}

/** Puts what is open beside the timeline, or below its line where the window is narrow. */
function putDetail() {
  const line = $("entries").children[seen.place];
  if (narrow.matches && line) line.append($("detail"));
  else $("timeline-box").append($("detail"));
}

/** @param {number} by */
function moveStep(by) {
  goTo(Math.max(0, Math.min(seen.place + by, seen.entries.length - 1)));
}

/** @param {boolean} isBefore */
function turnPicture(isBefore) {
  const hadFocus = $("detail").querySelector(".turns")?.contains(document.activeElement);
  showsBefore = isBefore;
  openEntry(seen.place, false);
  if (hadFocus) $("detail").querySelector(`.turns [aria-pressed="true"]`)?.focus();
}

// -- the next one

/** Neighbours in the order of the run page, of those that are chosen there. @param {Row} row @param {number} by @param {boolean} [isBad] */
function neighbour(row, by, isBad = false) {
  const rows = shownRows.includes(row) ? shownRows : sorted(TRIALS);
  for (let place = rows.indexOf(row) + by; rows[place]; place += by) if (!isBad || rows[place].verdict !== "passed") return rows[place];
  return null;
}

/** @param {Row} row */
function drawTurns(row) {
  const rows = shownRows.includes(row) ? shownRows : TRIALS;
  $("position").textContent = rows.includes(row) ? `${(rows.indexOf(row) + 1).toLocaleString("en")} of ${rows.length.toLocaleString("en")}` : "";
  const turns = { previous: neighbour(row, -1), next: neighbour(row, 1), "next-bad": neighbour(row, 1, true) };
  for (const [id, target] of Object.entries(turns)) $(id).disabled = !target;
}

/** @param {number} by @param {boolean} [isBad] */
function turn(by, isBad = false) {
  const target = seen.row && neighbour(seen.row, by, isBad);
  if (!target) return;
  location.hash = addressOf(target);
  route(); // a key that is pressed before the browser tells of the new address goes on from there
}
