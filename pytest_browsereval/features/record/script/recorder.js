// Listens to what a person does in this frame, before the page does, and tells the recorder.

const LONGEST_TEXT = 10_000;
const LONGEST_CHECK = 200;
const REST_MS = 40;
const EDIT_MS = 1000;
// Keys that edit what a field holds: the field's value says what came of them.
const EDITING = ["Backspace", "Delete", "Home", "End", "PageUp", "PageDown", "ArrowLeft", "ArrowRight"];
const NAMED = ["Enter", "Escape", "Tab", "ArrowUp", "ArrowDown", ...EDITING];
// Of the browser itself.
const OF_BROWSER = /^(t|w|n|r|l|f|p|d|h|j|o|s|u|[-+=0-9]|Tab|PageUp|PageDown)$/i;

const frameName = Math.random().toString(36).slice(2);
const numbers = new WeakMap();
const looked = new WeakMap();
let last = 0, mode = "", expected = null, ignored = null, pressed = null, resting = 0, dragged = null, start = [0, 0];
let edited = {one: null, at: 0};

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
  const targets = one ? candidatesFor(one) : [];
  if (one && !targets.length) return note("Nothing is recorded in this frame: it cannot be named from outside.");
  send({kind, key: one ? keyOf(one) : "", targets, at: Date.now(), ...more});
}

// -- pointing at what has to hold

function pick(event) {
  event.preventDefault();
  event.stopImmediatePropagation();
  if (event.type !== "click") return;
  const one = event.composedPath()[0];
  if (!(one instanceof Element)) return;
  if (mode === "text") return pickText(flat(browserevalText(one, 1000).value));
  const label = closest(one, "label");
  const field = label?.control ?? closest(one, "input, select, textarea, [contenteditable]");
  if (!field || ["submit", "button", "image", "reset", "file"].includes(field.type)) {
    return note("That is not a field. Point at one, or press Esc.");
  }
  if (secretKind(field)) return note("The value of a secret field is not checked.");
  const script = expressionFor(field);
  if (!script) return note("A field in a frame of another site cannot be checked.");
  const value = isSwitch(field) ? field.checked : field.isContentEditable ? field.innerText : field.value;
  if (typeof value === "string" && value.length > LONGEST_CHECK) return note("That value is too long for a check.");
  const target = candidatesFor(field)[0] ?? "the field";
  leavePicking({kind: "value", script, value, target});
}

// At once, and not when the recorder has answered: the next click is the page's again.
function leavePicking(message) {
  mode = "";
  bar.point(null);
  send(message);
}

function pickText(text) {
  if (!text) return note("There is no text. Point at a text, or press Esc.");
  if (!isPlain(text, LONGEST_CHECK)) {
    return note(`Point at a text of at most ${LONGEST_CHECK} characters, without icons; or select a part first.`);
  }
  leavePicking({kind: "text", text});
}

// -- what a person does

function onPress(event) {
  pressed = expected = ignored = null;
  start = [Math.round(event.clientX), Math.round(event.clientY)];
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
  if (mode && !isOurs(event)) return bar.point(event.composedPath()[0]);
  const one = meant(event);
  clearTimeout(resting);
  resting = one ? setTimeout(() => look(one), REST_MS) : 0;
}

function onClick(event) {
  const deep = event.composedPath()[0], one = meant(event);
  if (!one) return;
  if (one === ignored) return;
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
  if (one.type === "file") return note("Choosing a file is not recorded.");
  if (one.localName === "option" || (one.localName === "select")) return;
  if (isDrawing(one) && window !== window.top) return note("A click into a drawing in a frame is not recorded.");
  tell("click", one, pointOf(event, one));
}

// What is drawn has no elements of its own: the point says what was meant.
const isDrawing = (one) => one.localName === "canvas";
function pointOf(event, one) {
  if (!isDrawing(one) || window !== window.top) return {};
  const point = [Math.round(event.clientX), Math.round(event.clientY)];
  const isDrag = event.type === "click" && Math.hypot(point[0] - start[0], point[1] - start[1]) > 4;
  return isDrag ? {point, start} : {point};
}

function onDragStart(event) {
  const one = event.composedPath()[0];
  dragged = one instanceof Element ? closest(one, "[draggable=true], a[href], img") : null;
}

function onDrop(event) {
  const one = event.composedPath()[0];
  if (!dragged || !(one instanceof Element)) return;
  const to = candidatesFor(one);
  if (to.length) tell("drag", dragged, {to});
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
    const list = closest(one, "select"), option = list.selectedOptions[0];
    const same = [...list.options].filter((other) => flat(other.label) === flat(option?.label));
    if (list.multiple && list.selectedOptions.length > 1) return note("Of several options, one is recorded.");
    if (option) tell("select", list, {value: same.length === 1 && isPlain(flat(option.label), 200) ? flat(option.label) : option.value});
  } else if (isSwitch(one) && one !== ignored) {
    tell("switch", one, {isOn: one.checked});
  }
}

function onKey(event) {
  if (event.isComposing || event.repeat) return;
  const one = meant(event);
  const {key} = event, isField = one && isTextField(one);
  const hasModifier = event.ctrlKey || event.metaKey || event.altKey;
  if (["Shift", "Control", "Alt", "Meta", "AltGraph", "CapsLock", "Dead", "Process", "Unidentified"].includes(key)) return;
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
    if (!isField && !isChosenFrom) note("Keys outside of fields are recorded with Control, Alt or Command only.");
    return false;
  }
  if (key === "Enter" && (isMultiline || one?.localName === "select")) return false;
  if (isChosenFrom && (key.startsWith("Arrow") || EDITING.includes(key))) return false;
  if (isField && (EDITING.includes(key) || (key.startsWith("Arrow") && !hasList))) return false;
  return NAMED.includes(key);
}

// -- listening

const HANDLERS = {
  pointerdown: onPress, pointerover: onHover, click: onClick, dblclick: onDoubleClick, input: onInput,
  change: onChange, keydown: onKey, dragstart: onDragStart, drop: onDrop,
};
const EDITS = new Set(["keydown", "beforeinput", "paste", "cut", "drop"]);
const NOTING = new Set(["focusin", "pointerover", "pointerdown", ...EDITS]);
const PICKING = new Set(["pointerdown", "mousedown", "pointerup", "mouseup", "click", "dblclick", "touchstart", "touchend"]);

function onEvent(event) {
  if (!event.isTrusted) return;
  if (isOurs(event)) return bar.take(event);
  if (NOTING.has(event.type)) noteFieldAt(event);
  if (EDITS.has(event.type)) edited = {one: meant(event), at: event.timeStamp};
  if (mode && event.type === "keydown" && event.key === "Escape") {
    event.preventDefault();
    event.stopImmediatePropagation();
    return send({kind: "mode", mode: ""});
  }
  if (mode && PICKING.has(event.type)) return pick(event);
  if (mode && event.type !== "pointerover") return;
  HANDLERS[event.type]?.(event);
}

// Again and again, which adds nothing: `document.open()` takes all listeners of a window away.
function listen() {
  for (const type of new Set([...Object.keys(HANDLERS), ...PICKING, ...NOTING])) window.addEventListener(type, onEvent, true);
  window.addEventListener("contextmenu", onContextMenu);
  watchFields(document);
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
  frameTarget: (frame) => frameTarget(frame, prefixOf(frame.ownerDocument.defaultView) ?? ""),
  show(state) {
    if (state.mode === "text" && mode !== "text" && window === window.top) {
      // As the page wrote it, like the text of checks: a selection has the capitals of `text-transform`.
      const shown = flat(String(getSelection())), written = shown && flat(getSelection().getRangeAt(0).toString());
      const selected = written.toLowerCase() === shown.toLowerCase() ? written : shown;
      if (selected) { pickText(selected); getSelection().empty(); }
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
