// The bar of the recorder: in a closed shadow tree, which the page's scripts cannot look into.

const STYLE = `
  :host { all: initial }
  * { box-sizing: border-box; margin: 0; font: inherit; color: inherit }
  .box { position: fixed; z-index: 2147483647; display: flex; flex-direction: column; width: 900px;
    max-width: calc(100vw - 16px); font: 13px/18px system-ui, sans-serif; color: #f2f4f7; background: #191c21;
    border: 1px solid #ffffff2e; border-radius: 12px; overflow: hidden; user-select: none; cursor: grab;
    box-shadow: 0 1px 2px #0006, 0 10px 32px #0000004d; -webkit-font-smoothing: antialiased }
  .box.high { flex-direction: column-reverse }
  .row { display: flex; flex-wrap: wrap; align-items: center; gap: 4px; padding: 5px 6px 0 }
  button { display: inline-flex; align-items: center; justify-content: center; gap: 6px; height: 28px; padding: 0 9px;
    border: 0; border-radius: 7px; background: none; cursor: pointer; white-space: nowrap }
  button:hover { background: #ffffff1a }
  button:focus-visible { outline: 2px solid #7ab7ff; outline-offset: -2px }
  button:disabled { opacity: .4; cursor: default }
  button.on { background: #2563eb }
  button.main { margin-left: auto; background: #f2f4f7; color: #111418; font-weight: 600 }
  button.main:hover { background: #fff }
  button.asks { background: #b3261e }
  .count { width: 176px; justify-content: flex-start; font-variant-numeric: tabular-nums }
  .dot { width: 9px; height: 9px; border-radius: 50%; background: #ff5a52; flex: none }
  .gap { width: 1px; height: 18px; margin: 0 3px; background: #ffffff2e }
  .said { height: 24px; padding: 2px 15px 0; color: #b9c0ca; overflow: hidden; text-overflow: ellipsis;
    white-space: nowrap }
  .warn { color: #ffc46b }
  .more { max-height: 30vh; overflow: auto; padding: 8px 15px; white-space: pre-wrap; overflow-wrap: anywhere }
  ol { list-style: none; max-height: 38vh; overflow: auto; padding: 6px 8px 6px 15px }
  li { display: flex; align-items: center; gap: 10px }
  li::before { content: attr(data-number); min-width: 2ch; text-align: right; color: #8b94a1;
    font-variant-numeric: tabular-nums }
  li span { flex: 1; overflow: hidden; text-overflow: ellipsis; white-space: nowrap }
  li button { height: 22px; padding: 0 7px }
  li.check::before { content: "✓"; color: #5fd38d }
  .frame { position: fixed; z-index: 2147483646; pointer-events: none; border: 2px solid #2f81f7;
    border-radius: 4px; background: #2f81f726 }
  [hidden] { display: none !important }
`;
const MARGIN = 8;
const LONGEST_LINE = 130;

class Bar {
  // `send` takes what the person wants.
  constructor(send) {
    this.send = send;
    this.host = document.createElement("browsereval-recorder");
    this.root = this.host.attachShadow({mode: "closed"});
    const sheet = new CSSStyleSheet();  // a style element would be refused by policies of pages
    sheet.replaceSync(STYLE);
    this.root.adoptedStyleSheets = [sheet];
    this.frame = this.make("div", {class: "frame", hidden: ""});
    this.root.append(this.frame);
    this.isOpen = false;
    this.place = [500, 1000];  // of the room that there is, in thousandths
    this.held = null;
    this.actions = new WeakMap();
    if (window === window.top) this.build();
  }

  make(tag, attributes = {}, ...inner) {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    made.append(...inner);
    return made;
  }

  button(text, what, kind = "", title = "") {
    const made = this.make("button", {type: "button", class: kind, title}, text);
    this.actions.set(made, what);
    return made;
  }

  // Called by what listens first of all: a page may stop events on their way here, or take listeners away.
  take(event) {
    event.stopImmediatePropagation();
    if (event.type === "mousedown") event.preventDefault();  // the page keeps its focus and selection
    if (event.type.startsWith("pointer")) return this.drag(event);
    if (event.type !== "click" || this.wasMoved) return;  // what moves the bar ends over any button
    const at = event.detail ? this.root.elementFromPoint(event.clientX, event.clientY) : this.root.activeElement;
    const button = at?.closest("button");
    if (button && !button.disabled) this.actions.get(button)?.();
  }

  // The bar can be moved by all of it that is not a button.
  drag(event) {
    const {type, clientX, clientY} = event;
    if (type === "pointerdown") this.wasMoved = false;
    if (type === "pointerdown" && event.button === 0) {
      const {x, y} = this.line.getBoundingClientRect();
      if (this.root.elementFromPoint(clientX, clientY)?.closest("button, ol, .more")) return;
      this.held = [clientX - x, clientY - y];
      this.box.setPointerCapture(event.pointerId);
    } else if (this.held && type === "pointermove") {
      this.wasMoved = true;
      const [width, height] = this.room();
      const share = (at, most) => most > 0 ? Math.min(1000, Math.max(0, Math.round(at / most * 1000))) : 0;
      this.place = [share(clientX - this.held[0] - MARGIN, width), share(clientY - this.held[1] - MARGIN, height)];
      this.settle();
    } else if (this.held && ["pointerup", "pointercancel"].includes(type)) {
      this.held = null;
      this.keepPlace();
    }
  }

  room() {
    const {offsetWidth, offsetHeight} = this.line;
    return [innerWidth - offsetWidth - 2 * MARGIN, innerHeight - offsetHeight - 2 * MARGIN];
  }

  // From the end that is nearer, so that the list opens towards the middle.
  settle() {
    const [x, y] = this.place, [width, height] = this.room().map((most) => Math.max(0, most));
    const isHigh = y < 500;
    this.box.classList.toggle("high", isHigh);
    Object.assign(this.box.style, {left: `${MARGIN + width * x / 1000}px`,
      top: isHigh ? `${MARGIN + height * y / 1000}px` : "auto",
      bottom: isHigh ? "auto" : `${MARGIN + height * (1 - y / 1000)}px`});
  }

  keepPlace() {
    this.send({kind: "place", point: this.place, isOn: this.isOpen});
  }

  flip() {
    this.place = [this.place[0], this.place[1] < 500 ? 1000 : 0];
    this.settle();
    this.keepPlace();
  }

  // What has the focus by a key may be behind the bar.
  avoid(one) {
    if (!this.box || this.held) return;
    const a = one.getBoundingClientRect(), b = this.box.getBoundingClientRect();
    if (a.height < 200 && a.left < b.right && a.right > b.left && a.top < b.bottom && a.bottom > b.top) this.flip();
  }

  build() {
    const say = (kind, more) => () => this.send({kind, ...more});
    const pick = (mode) => () => this.send({kind: "mode", mode: this.state?.mode === mode ? "" : mode});
    this.list = this.make("ol", {hidden: ""});
    this.more = this.make("div", {class: "more", hidden: ""});
    this.count = this.make("span");
    this.arrow = this.make("span");
    this.counter = this.button("", () => this.toggle(), "count", "Show what was recorded");
    this.counter.append(this.make("span", {class: "dot"}), this.count, this.arrow);
    this.text = this.button("Check text", pick("text"), "", "Point at a text that must be there at the end");
    this.value = this.button("Check value", pick("value"), "", "Point at a field that must have this value");
    const address = this.button("Check address", say("address"), "", "The page must be at this address at the end");
    this.undo = this.button("Undo", say("remove", {way: -1}), "", "Forget the last step or check; the page stays as it is");
    const move = this.button("↕", () => this.flip(), "", "Move the bar to the other end; it can be dragged, too");
    this.cancel = this.button("Cancel", say("cancel"), "", "End without a row");
    const finish = this.button("Test the checks and finish", say("finish"), "main", "Test the row, and end once it passes");
    const gap = () => this.make("span", {class: "gap"});
    const row = this.make("div", {class: "row"}, this.counter, gap(), this.text, this.value, address, gap(), this.undo,
      move, this.cancel, finish);
    this.buttons = [this.text, this.value, address, move, this.cancel, finish];
    this.said = this.make("div", {class: "said", role: "status"});
    this.line = this.make("div", {}, row, this.said);
    this.box = this.make("div", {class: "box", role: "toolbar", "aria-label": "Recorder"}, this.list, this.more, this.line);
    this.root.append(this.box);
    window.addEventListener("resize", () => this.settle());
  }

  toggle() {
    this.isOpen = !this.isOpen;
    this.draw();
    this.keepPlace();
  }

  show(state) {
    this.state = state;
    if (!state.mode) this.point(null);
    if (!this.held) [this.place, this.isOpen] = [state.place, state.isOpen];
    if (this.box) this.draw();
  }

  draw() {
    const {steps, checks, items, mode, said, isWarning, isBusy, asks} = this.state ?? {items: [], steps: 0, checks: 0, said: ""};
    const count = (number, noun) => `${number} ${noun}${number === 1 ? "" : "s"}`;
    this.count.textContent = `${count(steps, "step")} · ${count(checks, "check")}`;
    let number = 0;
    this.list.replaceChildren(...items.map(({text, isCheck}, index) => this.make(
      "li", {class: isCheck ? "check" : "step", "data-number": isCheck ? "" : String(++number)},
      this.make("span", {title: text}, text),
      this.button("×", () => this.send({kind: "remove", way: index}), "", "Forget this one; the page stays as it is"))));
    this.list.hidden = !this.isOpen || !items.length;
    this.list.scrollTop = this.list.scrollHeight;
    for (const button of [...this.buttons, ...this.list.querySelectorAll("button")]) button.disabled = Boolean(isBusy);
    this.undo.disabled = isBusy || !items.length;
    this.text.classList.toggle("on", mode === "text");
    this.value.classList.toggle("on", mode === "value");
    this.cancel.classList.toggle("asks", Boolean(asks));
    const [line, ...more] = said.split("\n");
    this.said.textContent = this.said.title = line;
    this.more.textContent = line.length > LONGEST_LINE ? said : more.join("\n");
    this.more.hidden = !this.more.textContent;
    for (const one of [this.said, this.more]) one.classList.toggle("warn", Boolean(isWarning));
    this.arrow.textContent = (this.place[1] < 500) === this.isOpen ? "▴" : "▾";
    this.settle();
  }

  // Pages replace their body, and a modal dialog makes all else inert.
  keep() {
    const modal = [...document.querySelectorAll("dialog:modal")].pop();
    const home = modal ?? document.documentElement;
    if (home && this.host.parentNode !== home) home.append(this.host);
    this.host.style.cssText = "all: initial !important; display: block !important; position: static !important";
  }

  point(one) {
    const box = one?.getBoundingClientRect();
    this.frame.hidden = !box;
    if (box) Object.assign(this.frame.style, {left: `${box.x - 2}px`, top: `${box.y - 2}px`,
      width: `${box.width + 4}px`, height: `${box.height + 4}px`});
  }
}
