// Listens to what a person does in this frame, before the page does, and tells the recorder.

const LONGEST_TEXT = 10_000;
const LONGEST_CHECK = 200;
const REST_MS = 40;
const EDIT_MS = 1000;
const IDLE_MS = 1000;  // how long a page may take to answer a click on a text
const WHEEL_MS = 250;
const NOTCH_PX = 120;
const MOST_NOTCHES = 100;
const SLIP_PX = 4;  // a hand that clicks moves as far
// Keys that edit what a field holds: the field's value says what came of them.
const EDITING = ["Backspace", "Delete", "Home", "End", "PageUp", "PageDown", "ArrowLeft", "ArrowRight"];
const NAMED = ["Enter", "Escape", "Tab", "ArrowUp", "ArrowDown", ...EDITING];
const MODIFIERS = ["Shift", "Control", "Alt", "Meta", "AltGraph", "CapsLock", "Dead", "Process", "Unidentified"];
const FIELDS = "input, select, textarea, [contenteditable]";
// Of the browser itself.
const OF_BROWSER = /^(t|w|n|r|l|f|p|d|h|j|o|s|u|[-+=0-9]|Tab|PageUp|PageDown)$/i;

const frameName = Math.random().toString(36).slice(2);
const numbers = new WeakMap();
const looked = new WeakMap();
let last = 0, mode = "", expected = null, ignored = null, pressed = null, resting = 0, dragged = null, press = null, byKey = false, idle = null;
let edited = {one: null, at: 0}, chosen = [];

const send = (message) => bridge(JSON.stringify(message));
const note = (text) => send({kind: "note", text});

function keyOf(one) {
  if (!numbers.has(one)) numbers.set(one, ++last);
  return `${frameName}:${numbers.get(one)}`;
}

const bar = new Bar(send);

// What a person means by pressing there: the button around an icon, not the icon.
function meant(event) {
  const one = event.composedPath()[0];
  if (!(one instanceof Element)) return null;
  const active = closest(one, ACTIVE);
  if (active?.isContentEditable) {
    let top = active;
    while (top.parentElement?.isContentEditable) top = top.parentElement;
    return top;
  }
  return active ?? one;
}

const isOurs = (event) => event.composedPath().includes(bar.host);
const isSwitch = (one) => one.localName === "input" && ["checkbox", "radio"].includes(one.type);

function tell(kind, one, more = {}) {
  if (wheel) tellWheel();
  actedAt = performance.now();
  for (const other of one ? hoversFor(one) : []) sendStep("hover", other);
  sendStep(kind, one, more);
}

// What is in a list that is scrolled, or in a board, changes.
const isSteadyTarget = (target) => !/(^|>>> )text=/.test(target);

function sendStep(kind, one, more = {}) {
  if (kind !== "scroll") scrolled = null;
  const targets = one ? candidatesFor(one).filter((each) => kind !== "scroll" || isSteadyTarget(each)) : [];
  if (one && !targets.length) return note("Nothing is recorded in this frame: no selector finds it from outside.");
  send({kind, key: one ? keyOf(one) : "", targets, at: Date.now(), ...more});
}

// -- pointing at what has to hold

function pick(event) {
  event.preventDefault();
  event.stopImmediatePropagation();
  const one = event.composedPath()[0];
  if (!(one instanceof Element)) return;
  const field = closest(one, "label")?.control ?? closest(one, FIELDS);
  // A click has switched a box by the time that it is heard of.
  if (event.type === "pointerdown") press = {field, isOn: field?.checked};
  if (event.type !== "click") return;
  if (mode === "text") return isWholePage(one) ? note("That is the whole page. Point at one text, or press Esc and select one first.") : pickText(flat(browserevalText(one, 1000).value), one);
  if (!field || ["submit", "button", "image", "reset", "file"].includes(field.type)) {
    return note("That is not a field. Point at one, or press Esc.");
  }
  if (secretKind(field)) return note("The value of a secret field is not checked.");
  const isOn = press?.field === field ? press.isOn : field.checked;
  const value = isSwitch(field) ? isOn : field.isContentEditable ? field.innerText : field.value;
  if (typeof value === "string" && value.length > LONGEST_CHECK) return note("That value is too long for a check.");
  const chosen = [...field.selectedOptions ?? []].slice(0, 100).map((option) => flat(option.label).slice(0, 1000));
  leavePicking({
    kind: "value", script: expressionFor(field) ?? "", value, values: chosen, isOn: Boolean(field.multiple && field.options),
    isSame: value === firstValue(field), target: candidatesFor(field)[0] ?? "", text: nameOf(field).slice(0, 200),
  }, field);
}

// What a field held when its page was made.
function firstValue(one) {
  if (isSwitch(one)) return one.defaultChecked;
  if (one.localName !== "select") return one.defaultValue;
  return ([...one.options].find((option) => option.defaultSelected) ?? one.options[0])?.value;
}

// The pointer is next to all texts.
function isWholePage(one) {
  if (["body", "html"].includes(one.localName)) return true;
  const parts = [...one.children].filter((child) => flat(child.textContent));
  return parts.length > 1 && flat(one.innerText) === flat(document.body?.innerText);
}

// At once, and not when the recorder has answered: the next click is the page's again.
function leavePicking(message, one) {
  mode = "";
  press = null;
  bar.point(null);
  for (const other of one ? hoversFor(one) : []) sendStep("hover", other);
  send(message);
}

// What is typed while a person points would be lost: it is no step, and the page would have it.
function holdKey(event) {
  const {key, type} = event;
  if (MODIFIERS.includes(key) || ((event.ctrlKey || event.metaKey) && OF_BROWSER.test(key))) return;
  event.preventDefault();
  event.stopImmediatePropagation();
  if (type !== "keydown" || event.repeat) return;
  if (key === "Escape") return send({kind: "mode", mode: ""});
  note("Keys are held back while you point. Press Esc first.");
}

function pickText(text, one) {
  if (!text) return note("There is no text. Point at a text, or press Esc.");
  if (!isPlain(text, LONGEST_CHECK)) {
    return note(`Point at a text of up to ${LONGEST_CHECK} characters, without icons; or select a part first.`);
  }
  leavePicking({kind: "text", text}, one);
}

// -- what a person does

function onPress(event) {
  pressed = expected = ignored = null;
  survey();
  const deep = event.composedPath()[0], {clientX, clientY} = event;
  if (!(deep instanceof Element)) return void (press = null);
  const isBar = deep.clientWidth > 0 && (event.offsetX >= deep.clientWidth + deep.clientLeft || event.offsetY >= deep.clientHeight + deep.clientTop);
  const scroller = isBar && !closest(deep, ACTIVE) ? deep : null;
  const one = closest(deep, ACTIVE) ?? deep;
  press = {deep, one, place: placeOn(one), events: [event], start: [clientX, clientY].map(Math.round), before: lookAround(), scroller,
    from: scroller && placeOf(scroller)};
}

const hasMoved = (event) => Math.hypot(event.clientX - press.start[0], event.clientY - press.start[1]) > SLIP_PX;

// -- drags that a page makes of a pressed pointer; those of the browser have events of their own

function onMove(event) {
  if (press?.scroller && !event.buttons) {
    tellScrolled();
    press.scroller = null;
  }
  if (!press || press.source || !(event.buttons & 1) || !hasMoved(event) || closest(press.deep, FIELDS)) return;
  press.source = press.one;
  press.targets = candidatesFor(press.source);  // the drag may change what it is called
}

function onRelease(event) {
  const was = press;
  if (was?.scroller) return tellScrolled();
  if (!was?.source || event.button !== 0 || (!was.isCaptured && !getSelection().isCollapsed)) return;
  // A hand that slips while it clicks a button.
  if (was.source.matches(ACTIVE) && was.source.contains(document.elementFromPoint(event.clientX, event.clientY)) && placeOn(was.source) === was.place) return;
  const isHeld = was.isCaptured || was.events.some((one) => one.defaultPrevented);
  if (!isDrawing(was.deep) && !isHeld && was.before === lookAround()) return;
  was.isDrag = true;
  const end = [Math.round(event.clientX), Math.round(event.clientY)];
  const under = document.elementsFromPoint(...end).filter((one) => one !== bar.host);
  const to = under.find((one) => !was.source.contains(one) && !one.contains(was.source));
  // Else to a place within what it is in.
  const home = to ? closest(to, ACTIVE) ?? to : under.find((one) => one !== was.source && one.contains(was.source));
  const names = home && !isDrawing(was.deep) ? candidatesFor(home).filter((each) => to || isSteadyTarget(each)) : [];
  if (names.length && was.targets.length) {
    tellDrag(was.targets, names, was.source, to ? {} : {point: pointIn(home, event)});
  } else if (window === window.top) {
    tell("click", isDrawing(was.deep) ? was.deep : null, {point: end, start: was.start});
  } else {
    note("A drag within this frame is not recorded: it does not end at an element.");
  }
}

const placeOn = (one) => JSON.stringify(one.getBoundingClientRect());

function tellDrag(targets, to, one, more = {}) {
  actedAt = performance.now();
  send({kind: "drag", key: keyOf(one), targets, to, at: Date.now(), ...more});
}

// Playwright itself counts what the targets match, before anything has been done to the page.
function look(one) {
  if (mode || !one.isConnected || !one.matches(ACTIVE)) return;
  const targets = candidatesFor(one);
  const known = looked.get(one);
  if (!targets.length || known === targets.join("\n")) return;
  looked.set(one, targets.join("\n"));
  send({kind: "look", targets});
}

function onHover(event) {
  const one = meant(event);
  noteHover(one, event);
  if (mode) return bar.point(event.composedPath()[0]);
  clearTimeout(resting);
  resting = one ? setTimeout(() => look(one), REST_MS) : 0;
}

function onClick(event) {
  const deep = event.composedPath()[0], one = meant(event);
  if (!one || one === ignored || press?.isDrag) return;
  const isText = !closest(deep, `${ACTIVE}, label`) && getComputedStyle(one).cursor !== "pointer";
  if (isText && press && event.detail && hasMoved(event) && !getSelection().isCollapsed) return;  // it selects
  const label = closest(deep, "label");
  const control = label?.control;
  if (control && one !== control && !control.contains(one) && !(closest(deep, ACTIVE) && label.contains(closest(deep, ACTIVE)))) {
    if (control.checkVisibility({visibilityProperty: true}) && control.getClientRects()[0]?.width) {
      expected = control;  // its own click comes next
    } else {
      ignored = control;
      tell("click", label);
    }
    return;
  }
  const isForwarded = one === expected;
  expected = null;
  if (event.detail === 0 && !isForwarded && pressed) {
    const was = pressed;
    // Enter in a field sends its form, and the browser clicks a button for that.
    if (was.one !== one) return;
  }
  if (one.localName === "body" || one.localName === "html") return note("A click on the empty page is not recorded.");
  if (one.type === "file") return;  // what is chosen is told
  if (one.localName === "option" || (one.localName === "select")) return;
  const modifiers = [[event.altKey, "Alt"], [event.ctrlKey, "Control"], [event.metaKey, "Meta"], [event.shiftKey, "Shift"]]
    .filter(([isDown]) => isDown && event.detail).map(([, name]) => name);
  if (closest(one, "a[href]") && /Control|Meta/.test(modifiers)) return;  // the tab that it opens is told
  tell("click", one, {modifiers, ...pointOf(event, one)});
  if (isText && !isDrawing(one)) dropIfIdle(event, one);
}

// A person clicks on texts to read, to select or to leave a field. What changes nothing is no step.
function dropIfIdle(event, one) {
  const was = press, at = Date.now();
  idle = () => {
    const isHandled = [event, ...was?.events ?? []].some((each) => each.defaultPrevented);
    if (was && !isHandled && was.before === lookAround()) send({kind: "nothing", key: keyOf(one), at});
  };
  setTimeout(idle, IDLE_MS);
}

// What is drawn has no elements of its own: the point says what was meant.
const isDrawing = (one) => one.localName === "canvas";
const pointOf = (event, one) => isDrawing(one) ? {point: pointIn(one, event)} : {};

function pointIn(one, event) {
  const {x, y} = one.getBoundingClientRect();
  return [Math.max(0, Math.round(event.clientX - x)), Math.max(0, Math.round(event.clientY - y))];
}

function onDragStart(event) {
  const one = event.composedPath()[0];
  press = null;
  dragged = one instanceof Element ? closest(one, "[draggable=true], a[href], img") : null;
}

function onDrop(event) {
  const one = event.composedPath()[0];
  if (!(one instanceof Element)) return;
  if (!dragged && one.type !== "file") return tellFiles(one, event.dataTransfer.files);  // from outside
  if (!dragged) return;
  const to = candidatesFor(one), targets = candidatesFor(dragged);
  if (to.length && targets.length) tellDrag(targets, to, dragged);
  dragged = null;
}

function onDoubleClick(event) {
  const one = meant(event);
  if (one && !isTextField(one)) tell("double", one, pointOf(event, one));
}

function onContextMenu(event) {
  const one = meant(event);
  // Where the page has no menu of its own, the browser's opens.
  if (event.defaultPrevented && event.isTrusted && !isOurs(event) && one) {
    tell("click", one, {button: "right", ...pointOf(event, one)});
  }
}

// `document.execCommand` lets the browser edit a field, by an event that is as trusted as a person's. What a person
// does begins with another event in the field; pickers, and lists of proposals, have kinds of their own.
function isByScript(event, one) {
  if (["", "insertReplacementText"].includes(event.inputType ?? "")) return false;
  return edited.one !== one || event.timeStamp - edited.at > EDIT_MS;
}

function onInput(event) {
  const one = meant(event);
  if (!one || !isTextField(one) || isByScript(event, one)) return;
  const text = one.isContentEditable ? one.innerText : one.value;
  if (text.length > LONGEST_TEXT) return note(`More than ${LONGEST_TEXT} characters are not recorded.`);
  tell("fill", one, {text, secret: secretKind(one)});
}

function onChange(event) {
  const one = meant(event);
  if (!one) return;
  if (one.localName === "select" || closest(one, "select")) {
    const list = closest(one, "select");
    const labelOf = (option) => {
      const label = flat(option.label);
      return isPlain(label, 200) && [...list.options].filter((other) => flat(other.label) === label).length === 1 ? label : option.value;
    };
    tell("select", list, {values: [...list.selectedOptions].slice(0, 100).map(labelOf), isOn: list.multiple});
  } else if (one.type === "file") {
    tellFiles(one, one.files);
  } else if (isSwitch(one) && one !== ignored) {
    tell("switch", one, {isOn: one.checked});
  }
}

function tellFiles(one, files) {
  chosen = [...files];
  if (chosen.length || one.type === "file") tell("files", one, {values: chosen.slice(0, 100).map((file) => file.name.slice(0, 200))});
}

function onKey(event) {
  if (event.isComposing || event.repeat) return;
  const one = meant(event);
  const {key} = event, isField = one && isTextField(one);
  const hasModifier = event.ctrlKey || event.metaKey || event.altKey;
  if (MODIFIERS.includes(key)) return;
  if (!hasModifier && one && activates(one, key)) { pressed = {one}; return; }
  pressed = {one};
  if (isField && isTyped(event, one)) return;
  if (!isRecorded(event, one, isField, hasModifier)) return;
  const names = [[event.ctrlKey, "Control"], [event.metaKey, "Meta"], [event.altKey, "Alt"],
    [event.shiftKey && (hasModifier || key.length > 1), "Shift"]].filter(([isDown]) => isDown).map(([, name]) => name);
  const isFocused = one && !["body", "html"].includes(one.localName);
  tell("key", isFocused ? one : null, {press: [...names, key === " " ? "Space" : key].join("+")});
}

// Its character is in the field: AltGr is Control and Alt on some systems, Option is Alt. Of what is typed into a
// field of a secret, nothing is a step of its own.
function isTyped(event, one) {
  const isCharacter = [...event.key].length === 1;
  const isAlt = (event.altKey && !event.metaKey) || event.getModifierState("AltGraph");
  return (isCharacter && isAlt) || (!NAMED.includes(event.key) && secretKind(one) !== "");
}

// A click follows.
function activates(one, key) {
  const role = roleOf(one);
  if (one.localName === "summary" || one.localName === "button" || (role === "button" && one.localName === "input")) {
    return key === "Enter" || key === " ";
  }
  if (isSwitch(one)) return key === " ";
  return one.localName === "a" && key === "Enter";
}

function isRecorded(event, one, isField, hasModifier) {
  const {key} = event;
  const isMultiline = one && (one.localName === "textarea" || one.isContentEditable);
  const isChosenFrom = one && (one.localName === "select" || isSwitch(one) || ["number", "range", "date", "time",
    "month", "week", "datetime-local", "color"].includes(one.type));
  const hasList = one && (roleOf(one) === "combobox" || one.hasAttribute("aria-autocomplete") || one.hasAttribute("aria-controls"));
  if (hasModifier) {
    if (event.ctrlKey || event.metaKey ? OF_BROWSER.test(key) : event.altKey && /^(Arrow|Home|d$)/.test(key)) return false;
    return !isField || (key.length > 1 ? !EDITING.includes(key) : !/^[acvxyz]$/i.test(key));
  }
  if (key.length === 1) {
    if (!isField && !isChosenFrom) note("Keys outside fields are recorded with Control, Alt or Command only.");
    return false;
  }
  if (key === "Enter" && (isMultiline || one?.localName === "select")) return false;
  if (isChosenFrom && (key.startsWith("Arrow") || EDITING.includes(key))) return false;
  if (isField && (EDITING.includes(key) || (key.startsWith("Arrow") && !hasList))) return false;
  return NAMED.includes(key);
}

// -- listening

const HANDLERS = {
  pointerdown: onPress, pointerover: onHover, pointermove: onMove, pointerup: onRelease, click: onClick,
  dblclick: onDoubleClick, input: onInput, change: onChange, keydown: onKey, dragstart: onDragStart, drop: onDrop,
  wheel: onWheel, scrollend: tellScrolled, mousedown: (event) => press?.events.push(event),
  gotpointercapture: () => { if (press) press.isCaptured = true; }, pointercancel: () => { press = null; },
  focusin: (event) => { if (byKey && event.target instanceof Element) bar.avoid(event.target); },
};
const KEYS = new Set(["keydown", "keypress", "keyup", "beforeinput", "paste", "cut"]);
const EDITS = new Set(["keydown", "beforeinput", "paste", "cut", "drop"]);
const NOTING = new Set(["focusin", "pointerover", "pointerdown", ...EDITS]);
const PICKING = new Set(["pointerdown", "mousedown", "pointerup", "mouseup", "click", "dblclick", "touchstart", "touchend"]);

function onEvent(event) {
  if (!event.isTrusted) return;
  if (isOurs(event)) return bar.take(event);
  if (NOTING.has(event.type)) noteFieldAt(event);
  if (["keydown", "pointerdown"].includes(event.type)) byKey = event.type === "keydown";
  if (EDITS.has(event.type)) edited = {one: meant(event), at: event.timeStamp};
  if (mode && KEYS.has(event.type)) return holdKey(event);
  if (mode && PICKING.has(event.type)) return pick(event);
  if (mode && event.type !== "pointerover") return;
  HANDLERS[event.type]?.(event);
}

// Not passive: else a page has scrolled by the time that the wheel is heard of.
const LISTENING = {capture: true, passive: false};

// Again and again, which adds nothing: `document.open()` takes all listeners of a window away.
function listen() {
  for (const type of new Set([...Object.keys(HANDLERS), ...PICKING, ...NOTING, ...KEYS])) window.addEventListener(type, onEvent, LISTENING);
  window.addEventListener("contextmenu", onContextMenu);
  watchFields(document);
  survey();
  if (window === window.top || mode) bar.keep();
}

if (window === window.top) {
  window.navigation?.addEventListener("navigate", (event) => {
    if (event.navigationType !== "traverse" || !event.isTrusted) return;
    const way = event.destination.index - window.navigation.currentEntry.index;
    send({kind: "traverse", byUser: event.userInitiated, isSame: event.destination.sameDocument, way});
  });
}

globalThis.browserevalRecorder = {
  prefix: null,
  chosen: () => chosen,
  frameTarget: (frame) => frameTarget(frame, prefixOf(frame.ownerDocument.defaultView) ?? ""),
  show(state) {
    if (state.mode === "text" && mode !== "text" && window === window.top) {
      // As the page wrote it, like the text of checks: a selection has the capitals of `text-transform`.
      const shown = flat(String(getSelection())), written = shown && flat(getSelection().getRangeAt(0).toString());
      const selected = written.toLowerCase() === shown.toLowerCase() ? written : shown;
      if (selected) { idle?.(); pickText(selected); getSelection().empty(); }
    }
    mode = state.mode;
    bar.show(state);
    if (document.documentElement) listen();
  },
};

function begin() {
  watchFields(document);
  if (!document.documentElement) return void setTimeout(begin, 0);
  listen();
  setInterval(listen, 300);
}

begin();
send({
  kind: "hello", isTop: window === window.top, url: location.href, hasPrefix: prefixOf(window) !== null,
  at: performance.timeOrigin, how: performance.getEntriesByType("navigation")[0]?.type ?? "navigate",
});
