// News of the run: what has happened is drawn where it belongs, how things stand is drawn anew.

const MOST_LINES = 200;
const REDRAW_MS = 500;
const LOST_AFTER = 3;
const ASK_MS = 1000;

/** How things stand. @type {Record<string, any>} */
const states = DATA.live.states;
let isLost = false;
let errors = 0;

// -- how things stand

function drawNow() {
  const { queue, control, run, lanes, end } = states;
  const hasEnded = end.exit_code !== null;
  const isStarting = !queue.began_at && !lanes.flights.length && !LIST.length;
  const state = hasEnded ? "ended" : isLost ? "lost" : control.stopped ? "stopping" : control.paused ? "paused" : isStarting ? "starting" : "running";
  $("now").textContent = isStarting ? wordOf(state) : `${wordOf(state)} ${figures(queue, run, lanes, hasEnded)}`;
  $("now").dataset.state = state;
  $("now").dataset.good = String(end.exit_code === 0);
  $("written").hidden = !hasEnded && !isLost;
  const isOver = hasEnded || isLost;
  $("pause").disabled = $("stop").disabled = isOver || control.stopped || isStarting;
  $("pause").ariaPressed = String(control.paused);
  $("pause").textContent = control.paused ? "Resume" : "Pause";
  drawLanes(hasEnded ? { ...lanes, flights: [] } : lanes);
  $("lanes").hidden = $("lanes-title").hidden = hasEnded;
  drawQueue(queue);
  tellTimes();
  tellElapsed();
}

/** @param {string} state */
function wordOf(state) {
  if (state === "ended") return `The run has ended with exit code ${states.end.exit_code}.`;
  if (state === "lost") return "The run no longer answers: it has ended or was killed.";
  if (state === "stopping") return "Stopping: attempts in flight are finished, nothing else starts.";
  if (state === "paused") return "Paused: attempts in flight continue, nothing else starts.";
  if (state === "starting") return "Starting: nothing runs yet.";
  return "Running.";
}

/** @param {Queue} queue @param {any} run @param {Lanes} lanes @param {boolean} hasEnded */
function figures(queue, run, lanes, hasEnded) {
  const flights = lanes.flights;
  const costs = [run.totals.cost, ...flights.map((flight) => flight.cost)];
  const known = costs.filter((cost) => cost !== null).reduce((sum, cost) => sum + cost, 0);
  const spent = !costs.includes(null) ? `${money(known)} spent` : known ? `more than ${money(known)} spent` : "cost unknown";
  const most = run.in_rounds && !hasEnded ? "up to " : "";
  const many = (/** @type {number} */ count) => count.toLocaleString("en");
  const whole = queue.began_at && `${many(queue.over)} of ${most}${counted(queue.trials, "trial")} done`; // tests by hand have no queue
  const now = hasEnded ? [] : [`${flights.length} in flight`, queue.began_at && `${queue.waiting ? most : ""}${many(queue.waiting)} waiting`];
  const lost = queue.skipped - queue.needless;
  const unmade = [queue.needless > 0 && `${many(queue.needless)} not needed`, lost > 0 && `${many(lost)} not run`];
  return `${[whole, ...now, ...unmade].filter(Boolean).join(", ")}; ${spent}.`;
}

/** How long the run has taken, and how long the rest will at this pace: what an earlier session had takes no time. */
function tellElapsed() {
  const { queue, run, end } = states;
  const began = Date.parse(queue.began_at);
  const isOver = end.exit_code !== null;
  $("times").textContent = "";
  if (Number.isNaN(began) || (isLost && !isOver)) return;
  const elapsed = Math.max(0, (isOver ? Date.parse(end.at) : Date.now() + AHEAD_MS) - began);
  const made = LIST.filter((row) => STACK.includes(row.verdict) && Date.parse(row.started) >= began).length;
  const left = queue.trials - queue.over - queue.skipped;
  const rest = made && left && !isOver ? `, ${run.in_rounds ? "up to " : ""}about ${time(Math.max((elapsed / made) * left, 1000))} left` : "";
  $("times").textContent = `${time(Math.max(elapsed, 1000))} ${isOver ? "in total" : "elapsed"}${rest}`;
}

// -- the run below

/** An attempt without a verdict is in flight, as long as the run goes on. @param {any} row */
function sayRunning(row) {
  if (row.verdict === "unfinished") row.reason = "It is running.";
}

/** @param {any[]} rows as they are now */
function takeRows(rows) {
  for (const given of rows) {
    sayRunning(given);
    const known = BY_KEY.get(given.key);
    if (known) {
      const isNew = known.verdict !== given.verdict;
      Object.assign(known, given, { text: "" });
      if (isNew && given.tries) addVerdict(known);
    } else {
      const row = /** @type {Row} */ ({ ...given, place: ROWS.length, text: "", run: DATA.run });
      ROWS.push(row);
      BY_KEY.set(row.key, row);
      if (row.verdict !== "unfinished") addVerdict(row);
    }
    if (seen.row && seen.row.key === given.key) refreshSoon();
    else if (given.verdict !== "unfinished") keepDetails(given);
  }
  LIST = ROWS.filter((row) => row.tries);
  BY_TASK = byTask(LIST);
  for (const facet of Object.keys(severals)) delete severals[facet];
  redrawSoon();
}

let filters = "";

function drawRun() {
  Object.assign(DATA.totals, states.run.totals);
  const { facts, resumes, repeats, quarantine } = states.run;
  Object.assign(DATA.run, { facts, resumes, selected: states.queue.trials || null, goesOn: states.end.exit_code === null });
  Object.assign(DATA, { repeats, quarantine });
  REPEATS = readRepeats();
  drawSummary();
  const now = JSON.stringify([PARTS.filter((verdict) => DATA.totals[verdict]), Object.keys(FACETS).filter(many)]);
  if (filters && now !== filters) buildFilters();
  filters = now;
  if ($("overview").hidden) return;
  const chosen = document.activeElement instanceof HTMLSelectElement; // it may be open: it is left alone
  if (!chosen) redraw();
}

/** @param {() => void} act @param {number} ms @returns {() => void} which has it done once, a little later */
function soon(act, ms) {
  let waits = 0;
  return () => {
    waits ||= setTimeout(() => {
      waits = 0;
      act();
    }, ms);
  };
}

const redrawSoon = soon(drawRun, REDRAW_MS);
const refreshSoon = soon(refresh, REDRAW_MS);

/** Draws the attempt that is open anew; who looks at its last step goes on with it. */
async function refresh() {
  const { row, entries, place } = seen;
  if (!row || $("closeup").hidden) return;
  const details = await detailsOf(row).catch(() => null);
  if (!details || seen.row !== row) return;
  const follows = place >= entries.length - 1;
  const hadFocus = $("entries").contains(document.activeElement);
  const top = $("entries").scrollTop;
  Object.assign(seen, { details, entries: entriesOf(details), place: -1 });
  drawAbout(row, details);
  drawTimeline();
  openEntry(follows ? seen.entries.length - 1 : place, false);
  $("entries").scrollTop = follows ? $("entries").scrollHeight : top;
  if (hadFocus) $("entries").children[seen.place]?.querySelector("button").focus();
}

// -- the stream

/** The number of the last line that is shown of an attempt, by its key. @type {Map<string, number>} */
const shown = new Map();

/** Adds the latest message of an attempt, if it is new. @param {Flight} flight */
function addMessage({ key, lines, last }) {
  if (!lines || shown.get(key) === lines) return;
  shown.set(key, lines);
  const entry = entryOf(last, lines - 1, 0, new Map());
  addLine(key, asText(last.timestamp), `line-${lines}`, element("span", { "data-kind": entry.kind }, ...entryWords(entry)));
  if (seen.row && seen.row.key === key) refreshSoon();
}

/** When an attempt was over. @param {Row} row */
function endOf({ started, ms }) {
  const end = Date.parse(started) + (ms || 0);
  return Number.isNaN(end) ? "" : new Date(end).toISOString();
}

/** @param {Row} row */
function addVerdict(row) {
  addLine(row.key, endOf(row), "", element("span", {}, badge(row.verdict), " ", element("bdi", { className: "brief", textContent: row.reason })));
}

/** @param {string} key @param {string} at @param {string} entry @param {any} words */
function addLine(key, at, entry, words) {
  const row = BY_KEY.get(key) || /** @type {any} */ ({ key });
  const ms = Number.isNaN(Date.parse(at)) ? Date.now() + AHEAD_MS : Date.parse(at);
  const link = element("a", { className: "whose", href: addressOf(row, entry) }, element("bdi", { textContent: row.id ? nameOf(row) : key }));
  const box = $("stream");
  const clock = new Date(ms).toISOString().slice(11, 19);
  const made = element("li", { "data-ms": ms }, element("span", { className: "at", textContent: clock }), " ", link, " ", words);
  box.insertBefore(made, [...box.children].find((one) => Number(/** @type {HTMLElement} */ (one).dataset.ms) <= ms) || null); // some are read late
  while (box.children.length > MOST_LINES) box.lastElementChild.remove();
  $("no-stream").hidden = true;
}

// -- asking for news

let last = DATA.live.last;

/** Asks each second; who wants something of the run asks at once. */
async function ask() {
  let news;
  try {
    const answer = await fetch(`news?after=${last}`);
    news = await answer.json();
    errors = 0;
    isLost = false;
    if (news.error) trouble(`The run's folder cannot be read: ${asText(news.error)}`);
  } catch {
    errors += 1;
    isLost = errors >= LOST_AFTER;
  }
  if (news && news.states) takeNews(news);
  drawSoon();
  if (states.end.exit_code === null) setTimeout(ask, ASK_MS);
}

/** @param {{last: number, rows: any[], states: Record<string, any>}} news */
function takeNews(news) {
  last = news.last;
  takeRows(news.rows);
  news.states.lanes.flights.forEach(addMessage);
  Object.assign(states, news.states);
  redrawSoon();
}

const drawSoon = soon(drawNow, 50);

function begin() {
  const { runs, own, folder } = DATA.live;
  $("run").title = folder;
  $("written-at").textContent = `${folder}/index.html`;
  $("copy-path").onclick = () => copyText($("copy-path"), "Copy", `${folder}/index.html`);
  ROWS.forEach(sayRunning);
  $("runs").hidden = runs.length < 2;
  $("runs").replaceChildren(...runs.map((/** @type {string} */ name, /** @type {number} */ place) => element("a", { href: `../${place}/`, "aria-current": place === own ? "page" : null }, element("bdi", { textContent: name }))));
  $("pause").onclick = () => want(states.control.paused ? "resume" : "pause");
  $("stop").onclick = () => {
    if (confirm("Stop the run? Attempts in flight are finished, all others are skipped. This cannot be undone; --eval-resume resumes the run later.")) want("stop");
  };
  states.lanes.flights.forEach(addMessage);
  drawRun();
  drawNow();
  setInterval(() => {
    tellTimes();
    tellElapsed();
  }, 1000);
  if (states.end.exit_code !== null) return;
  setTimeout(ask, ASK_MS);
  keepKnown([...ROWS]);
}

begin();
