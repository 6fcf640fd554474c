// Addresses and keys.

let overviewTop = 0;
let lastOverview = "#?";

function route() {
  const hash = location.hash;
  if (hash.startsWith("#/")) return openAttempt(hash.slice(2).split("/"));
  const wasHidden = $("run-view").hidden;
  $("attempt-view").hidden = true;
  $("run-view").hidden = false;
  document.title = TITLE;
  readChoice(hash.startsWith("#?") ? hash.slice(2) : "");
  redraw();
  lastOverview = overviewAddress();
  if (wasHidden) {
    scrollTo(0, overviewTop);
    drawRows(true);
    focusRowOf(seen.row);
  }
  seen.row = null;
}

/** @param {Row | null} row */
function focusRowOf(row) {
  const place = row ? shownRows.indexOf(row) : -1;
  if (place >= 0) focusRow(place);
}

/** @param {string[]} parts of the address */
function openAttempt(parts) {
  const names = parts.map(decoded);
  const entry = /^(?:step|line)-\d+$/.test(names[names.length - 1]) ? names.pop() : "";
  const row = BY_KEY.get(names.join("/")) || lastOf(names.join("/"));
  if (!$("run-view").hidden) {
    overviewTop = scrollY;
    lastOverview = overviewAddress();
  }
  $("run-view").hidden = true;
  $("attempt-view").hidden = false;
  $("back").href = lastOverview;
  if (!row) {
    $("attempt-view").dataset.gone = "";
    document.title = TITLE;
    seen.row = null;
    tell(`This run has no attempt ${names.join("/")}.`);
    $("attempt").ariaBusy = "false";
    return;
  }
  delete $("attempt-view").dataset.gone;
  if (seen.row !== row) scrollTo(0, 0);
  showAttempt(row, entry || "");
}

/** The last attempt of a trial. @param {string} trial its folder */
const lastOf = (trial) => TRIALS.find((row) => row.key.startsWith(`${trial}/attempt-`));

/** @param {string} text */
function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** @type {Record<string, () => void>} */
const ATTEMPT_KEYS = {
  ArrowUp: () => moveStep(-1),
  ArrowDown: () => moveStep(1),
  Home: () => goTo(0),
  End: () => goTo(seen.entries.length - 1),
  ArrowLeft: () => turn(-1),
  ArrowRight: () => turn(1),
  f: () => turn(1, true),
  F: () => turn(-1, true),
  b: () => turnPicture(!showsBefore),
  Escape: () => $("back").click(),
  "?": () => showKeys(),
};

/** @type {Record<string, () => void>} */
const RUN_KEYS = {
  ArrowUp: () => moveRow(-1),
  ArrowDown: () => moveRow(1),
  f: () => choose("verdict", choice.verdict === "failed" ? "" : "failed"),
  e: () => choose("verdict", choice.verdict === "errored" ? "" : "errored"),
  "/": () => $("search").focus(),
  "?": () => showKeys(),
};

function showKeys() {
  $("help").open = true;
  $("help").querySelector("summary").focus();
}

document.addEventListener("keydown", (event) => {
  const target = /** @type {HTMLElement} */ (event.target);
  const isField = target.matches("input:not([type=checkbox]), textarea, select");
  if (isField && event.key === "Escape") target.blur();
  const scrolls = event.key.startsWith("Arrow") && target.matches("pre, .scrolls");
  if (isField || scrolls || event.ctrlKey || event.altKey || event.metaKey || event.isComposing) return;
  const act = $("keys").checked ? ($("run-view").hidden ? ATTEMPT_KEYS : RUN_KEYS)[event.key] : undefined;
  if (!act || (event.repeat && !event.key.startsWith("Arrow"))) return;
  event.preventDefault();
  act();
});
addEventListener("scroll", () => drawRows(), { passive: true });
addEventListener("resize", () => drawRows(true));
addEventListener("hashchange", route);
narrow.addEventListener("change", () => {
  putDetail();
  drawHead();
  drawRows(true);
});
$("previous").onclick = () => turn(-1);
$("next").onclick = () => turn(1);
$("next-bad").onclick = () => turn(1, true);

const TITLE = document.title;
$("plots-box").open = !narrow.matches;
$("run").textContent = TITLE;
drawSummary();
buildFilters();
route();
