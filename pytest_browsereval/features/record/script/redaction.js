// Which fields hold a secret. One that did once always does: pages show what was typed, before or after.

const SECRET_FIELDS = /^(current-password|new-password|one-time-code|cc-(number|csc|exp|exp-month|exp-year))$/;
const SECRET_NAMES = /pass(word|wd|phrase|code)?|pwd|\bpin\b|\botp\b|secret|token|cvc|cvv|(api|access|private)key|(^|[^a-z])keys?([^a-z]|$)/i;
const MOST_PLACES = 10_000;
const secretFields = new WeakSet();
const secretPlaces = new Set();
const watched = new WeakSet();

// By the browser, or by a font of dots.
function isMasked(one) {
  const style = getComputedStyle(one);
  return !["", "none"].includes(style.webkitTextSecurity ?? "") || /text-security/i.test(style.fontFamily);
}

// What another element has in common with this one if a script has put it there in its stead.
function placesOf(one) {
  const named = [["id", one.id], ["name", one.getAttribute("name")], ["label", nameOf(one)]];
  const found = named.filter(([, value]) => value).map((each) => each.join(" "));
  if (!one.isConnected) return found;
  const root = one.getRootNode();
  const outer = root === document ? "" : pathIn(root.host.getRootNode(), root.host);
  return [...found, `${location.pathname} ${outer} ${pathIn(root, one)}`, `${location.pathname} ${spotOf(one)}`];
}

// By numbers only: what is put in its stead may have another name.
function spotOf(one) {
  const numbers = [];
  for (let at = one; at && at !== document.body; at = parentOf(at)) {
    numbers.push([...(at.parentNode?.children ?? [])].indexOf(at));
  }
  return numbers.join(" ");
}

function keepSecret(one) {
  secretFields.add(one);
  for (const place of secretPlaces.size < MOST_PLACES ? placesOf(one) : []) secretPlaces.add(place);
}

function noteFieldsIn(root) {
  for (const one of root.querySelectorAll("input[type=password]")) keepSecret(one);
}

const ofSecrets = new MutationObserver(noteChanges);
function noteChanges(changes) {
  for (const {type, target, oldValue, addedNodes} of changes) {
    if (type === "attributes" && (oldValue?.toLowerCase() === "password" || target.type === "password")) keepSecret(target);
    for (const one of addedNodes) {
      if (!(one instanceof Element)) continue;
      if (one.matches("input[type=password]")) keepSecret(one);
      noteFieldsIn(one);
      if (one.shadowRoot) watchFields(one.shadowRoot);
    }
  }
}

function watchFields(root) {
  ofSecrets.observe(root, {childList: true, subtree: true, attributeFilter: ["type"], attributeOldValue: true});
  ofChanges.observe(root, {childList: true, subtree: true, attributes: true, characterData: true});
  noteFieldsIn(root);
  if (watched.has(root)) return;
  watched.add(root);
  for (const inner of rootsIn(root)) if (inner !== root) watchFields(inner);
}

// Before the page hears of it: it may show the field on the first key.
function noteFieldAt(event) {
  const path = event.composedPath();
  for (const one of path) if (one instanceof ShadowRoot && !watched.has(one) && one !== bar.root) watchFields(one);
  const one = path[0];
  if (one instanceof Element && isTextField(one) && (one.type === "password" || isMasked(one))) keepSecret(one);
}

// The kind of secret that a field holds; empty if it holds none.
function secretKind(one) {
  noteChanges(ofSecrets.takeRecords());
  const words = (one.getAttribute("autocomplete") ?? "").toLowerCase().split(/\s+/);
  const known = words.find((word) => SECRET_FIELDS.test(word));
  if (known || one.type === "password" || (isTextField(one) && isMasked(one))) keepSecret(one);
  if (known) return known;
  if (secretFields.has(one)) return "password";
  if (!isTextField(one)) return "";
  const names = [one.getAttribute("name"), one.id, nameOf(one), one.placeholder, one.title].filter(Boolean);
  const isNamed = names.some((word) => SECRET_NAMES.test(word) || SECRET_NAMES.test(word.replace(/([a-z])([A-Z])/g, "$1 $2")));
  return isNamed || placesOf(one).some((place) => secretPlaces.has(place)) ? "password" : "";
}
