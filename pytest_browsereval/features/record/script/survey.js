// What the page shows and changes: which clicks do nothing, what a pointer brings into sight, how far it is scrolled.

const MOST_SURVEYED = 5_000;
const SURVEY_MS = 50;
const REVEAL_MS = 1500;
const shown = new WeakSet(), hidden = new WeakSet(), causes = new WeakMap();
let changes = 0, actedAt = 0, surveyedAt = 0, trail = [], isSurveyed = false, wheel = null;
let turned = null, scrolled = null;  // the last event of the wheel, and the last scroll

const ofChanges = new MutationObserver(countChanges);
function countChanges(records) {
  const isBar = (nodes) => nodes.length === 1 && nodes[0] === bar.host;
  changes += records.filter(({target, addedNodes, removedNodes}) =>
    target !== bar.host && !isBar(addedNodes) && !isBar(removedNodes)).length;
}

// Another text after the page has changed from any text.
function lookAround() {
  countChanges(ofChanges.takeRecords());
  const values = [...document.querySelectorAll("input, textarea, select")].slice(0, 500).map((one) => [one.value, one.checked]);
  const drawn = document.querySelector("canvas") ? performance.now() : 0;  // a drawing does not tell
  return JSON.stringify([changes, drawn, location.href, scrollX, scrollY, values]);
}

// -- what comes into sight under a pointer, such as a menu: to point there is a step if that is used

const isSeen = (one) => one.checkVisibility({visibilityProperty: true}) && one.getClientRects().length > 0;

function survey() {
  if (!document.body) return;
  const now = surveyedAt = performance.now(), fresh = [];
  let all = document.querySelectorAll("body *");
  all = all.length > MOST_SURVEYED ? document.querySelectorAll(ACTIVE) : [...rootsIn(document.body)].flatMap((root) => [...root.querySelectorAll("*")]);
  for (const one of [...all].slice(0, MOST_SURVEYED)) {
    if (!isSeen(one)) {
      shown.delete(one);
      causes.delete(one);
      hidden.add(one);
    } else if (!shown.has(one)) fresh.push(one);
  }
  const recent = trail.filter(({one, at}) => at > actedAt && now - at < REVEAL_MS && shown.has(one)).reverse();
  const made = new Map();
  for (const one of isSurveyed ? fresh : []) {
    // What is new soon after a click may have come of that.
    if (now - actedAt < REVEAL_MS && !hidden.has(one)) continue;
    const by = recent.find((each) => !one.contains(each.one))?.one;
    if (by && !made.has(by)) made.set(by, {by, isTold: false});
    if (by) causes.set(one, made.get(by));
  }
  for (const one of fresh) shown.add(one);
  isSurveyed = true;
}

function noteHover(one, {clientX, clientY}) {
  // What is scrolled to where the pointer rests, nobody points at.
  if (!one || (turned?.clientX === clientX && turned.clientY === clientY)) return;
  trail = [...trail.slice(-9), {one, at: performance.now()}];
  if (performance.now() - surveyedAt > SURVEY_MS) survey();
  setTimeout(() => { if (trail.at(-1)?.one === one) survey(); }, REST_MS);
}

// What has to be pointed at before an element is there, the first one first.
function hoversFor(one) {
  const found = [];
  for (let at = one; at; at = parentOf(at)) {
    const cause = causes.get(at);
    if (!cause) continue;
    if (cause.isTold) break;
    cause.isTold = true;
    found.unshift(at = cause.by);
  }
  return found.map(handleOf).filter((other) => other !== one && other.isConnected && isSeen(other));
}

// A part of it that has a name, and was there before.
function handleOf(one) {
  if (one.matches(ACTIVE)) return one;
  return [...one.querySelectorAll(ACTIVE)].find((inner) => isSeen(inner) && !causes.has(inner)) ?? one;
}

// -- scrolling

function scrollerOf(one, isUpright) {
  for (let at = one; at && at !== document.body && at !== document.documentElement; at = parentOf(at)) {
    const style = getComputedStyle(at), room = isUpright ? at.scrollHeight - at.clientHeight : at.scrollWidth - at.clientWidth;
    if (room > 0 && /auto|scroll/.test(isUpright ? style.overflowY : style.overflowX)) return at;
  }
  return null;
}

const placeOf = (one) => [one.scrollLeft, one.scrollTop];
const ofPage = () => document.scrollingElement ?? document.documentElement;

function onWheel(event) {
  const one = event.composedPath()[0], isUpright = Math.abs(event.deltaY) >= Math.abs(event.deltaX);
  const delta = (isUpright ? event.deltaY : event.deltaX) * [1, 16, innerHeight][event.deltaMode];
  if (event.ctrlKey || !delta || !(one instanceof Element)) return;
  if (press) press.scroller = null;
  const direction = isUpright ? (delta < 0 ? "up" : "down") : delta < 0 ? "left" : "right";
  if (wheel && wheel.direction !== direction) tellWheel();
  if (!wheel) {
    survey();
    const scroller = scrollerOf(one, isUpright), room = roomOf(scroller ?? ofPage(), direction);
    wheel = {direction, pixels: 0, one, scroller, from: String(placeOf(scroller ?? ofPage())), events: [], changes, room};
  }
  actedAt = performance.now();  // what comes into sight now comes by scrolling
  turned = event;
  wheel.pixels += Math.abs(delta);
  wheel.events = [event, ...wheel.events].slice(0, 2);
  clearTimeout(wheel.timer);
  wheel.timer = setTimeout(tellWheel, WHEEL_MS);
}

function roomOf(one, direction) {
  const [left, up] = placeOf(one);
  return {left, up, right: one.scrollWidth - one.clientWidth - left, down: one.scrollHeight - one.clientHeight - up}[direction];
}

function tellWheel() {
  const was = wheel;
  wheel = null;
  actedAt = performance.now();
  clearTimeout(was.timer);
  const isHeld = was.events.some((event) => event.defaultPrevented);
  if (!isHeld && String(placeOf(was.scroller ?? ofPage())) === was.from) return;
  sendScroll(isHeld ? was.one : was.scroller, was.direction, was.pixels, was.changes, isHeld ? 0 : was.room);
}

// By the bar of what scrolls: a press on that has no end which is told.
function tellScrolled() {
  if (!press?.scroller) return;
  const {scroller, from} = press;
  press.from = placeOf(scroller);
  const [x, y] = press.from.map((now, axis) => now - from[axis]);
  const isUpright = Math.abs(y) >= Math.abs(x);
  const direction = isUpright ? (y < 0 ? "up" : "down") : x < 0 ? "left" : "right";
  if (x || y) sendScroll(scroller === ofPage() ? null : scroller, direction, Math.abs(isUpright ? y : x), changes);
}

function sendScroll(one, direction, pixels, count, room = 0) {
  const what = one ?? (window === window.top ? null : document.body), place = what ? keyOf(what) : frameName;
  const way = Math.min(MOST_NOTCHES, Math.ceil(pixels / NOTCH_PX)), was = scrolled;
  // One step with the last one, unless the page has changed in between and could not be scrolled as far before.
  const goesOn = was?.place === place && was.direction === direction && (was.count === count || was.pixels + pixels <= was.room);
  scrolled = goesOn ? {...was, pixels: was.pixels + pixels} : {place, direction, count, room, pixels};
  sendStep("scroll", what, {how: direction, way, key: `${place}:${scrolled.count}`});
}
