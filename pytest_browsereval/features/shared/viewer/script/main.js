// Addresses and keys, for each page that has a list and what is opened from it.

let overviewTop = 0;
let lastOverview = "#?";

function route() {
  const hash = location.hash;
  const isItem = hash.startsWith("#/");
  const wasItem = $("overview").hidden;
  if (isItem && !wasItem) {
    overviewTop = scrollY;
    lastOverview = overviewAddress();
  }
  $("overview").hidden = isItem;
  $("closeup").hidden = !isItem;
  if (isItem) {
    $("back").href = lastOverview;
    delete $("closeup").dataset.gone;
    return openItem(hash.slice(2).split("/").map(decoded));
  }
  document.title = TITLE;
  readChoice(hash.startsWith("#?") ? hash.slice(2) : "");
  redraw();
  lastOverview = overviewAddress();
  const left = leaveItem();
  if (!wasItem) return;
  scrollTo(0, overviewTop);
  drawRows(true);
  focusRowOf(left);
}

/** Says that there is nothing at an address. @param {string} problem */
function gone(problem) {
  $("closeup").dataset.gone = "";
  document.title = TITLE;
  tell(problem);
  $("attempt").ariaBusy = "false";
}

/** @param {string} problem */
function tell(problem) {
  $("problem").textContent = problem;
  $("problem").hidden = !problem;
}

/** @param {string} text */
function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Goes on from a field to what it searches: the step that is open, or the first row. @param {HTMLElement} field */
function leaveField(field) {
  field.blur();
  /** @type {HTMLElement | null} */ (document.querySelector($("overview").hidden ? '#closeup [aria-current="step"]' : "#rows a"))?.focus({ preventScroll: true });
}

function showKeys() {
  $("help").open = true;
  $("help").querySelector("summary").focus();
}

/** @type {Record<string, () => void>} */
const ON_ITEM = { ...ITEM_KEYS, j: ITEM_KEYS.ArrowDown, k: ITEM_KEYS.ArrowUp, Escape: () => $("back").click(), "?": showKeys };
/** @type {Record<string, () => void>} */
const ON_LIST = { ...LIST_KEYS, ArrowUp: () => moveRow(-1), ArrowDown: () => moveRow(1), k: () => moveRow(-1), j: () => moveRow(1), "/": () => $("search").focus(), "?": showKeys };

document.addEventListener("keydown", (event) => {
  const target = /** @type {HTMLElement} */ (event.target);
  const isField = target.matches("input:not([type=checkbox]), textarea, select");
  if (isField && event.key === "Escape") leaveField(target);
  const scrolls = event.key.startsWith("Arrow") && target.matches("pre, .scrolls");
  if (isField || scrolls || event.ctrlKey || event.altKey || event.metaKey || event.isComposing) return;
  const act = $("keys").checked ? ($("overview").hidden ? ON_ITEM : ON_LIST)[event.key] : undefined;
  if (!act || (event.repeat && !event.key.startsWith("Arrow") && !"jk".includes(event.key))) return;
  event.preventDefault();
  act();
});
addEventListener("scroll", () => drawRows(), { passive: true });
addEventListener("resize", () => drawRows(true));
addEventListener("hashchange", route);
narrow.addEventListener("change", () => {
  onNarrow();
  openFilters();
  drawHead();
  drawRows(true);
});
$("previous").onclick = () => turn(itemRow(), -1);
$("next").onclick = () => turn(itemRow(), 1);
$("next-open").onclick = () => turn(itemRow(), 1, true);

const TITLE = document.title;
$("run").textContent = TITLE;
drawOnce();
buildFilters();
route();
