// The bar of the recorder: in a closed shadow tree, which the page's scripts cannot look into.

const STYLE = `
  :host { all: initial }
  * { box-sizing: border-box; margin: 0; font: inherit; color: inherit }
  .box { position: fixed; z-index: 2147483647; left: 50%; bottom: 16px; translate: -50% 0; display: grid;
    width: max-content; max-width: calc(100vw - 24px); font: 13px/1.35 system-ui, sans-serif; color: #f2f4f7;
    background: #191c21; border: 1px solid #ffffff2e; border-radius: 14px; overflow: hidden; user-select: none;
    box-shadow: 0 1px 2px #0006, 0 10px 32px #0000004d; -webkit-font-smoothing: antialiased }
  .box.top { bottom: auto; top: 16px }
  .row { display: flex; flex-wrap: wrap; align-items: center; gap: 4px; padding: 6px }
  button { display: inline-flex; align-items: center; gap: 6px; height: 30px; padding: 0 10px; border: 0;
    border-radius: 8px; background: none; cursor: pointer; white-space: nowrap }
  button:hover { background: #ffffff1a }
  button:focus-visible { outline: 2px solid #7ab7ff; outline-offset: -2px }
  button:disabled { opacity: .4; cursor: default }
  button.on { background: #2563eb }
  button.main { background: #f2f4f7; color: #111418; font-weight: 600 }
  button.main:hover { background: #fff }
  .count { font-variant-numeric: tabular-nums }
  .dot { width: 9px; height: 9px; border-radius: 50%; background: #ff5a52; flex: none }
  .gap { width: 1px; height: 18px; margin: 0 4px; background: #ffffff2e }
  .said { padding: 0 14px 9px; max-width: 62ch; color: #b9c0ca; overflow-wrap: anywhere }
  .said.warn { color: #ffc46b }
  .said:empty { display: none }
  ol { list-style: none; max-height: 38vh; overflow: auto; padding: 8px 14px 6px; min-width: 100%; width: 0;
    border-bottom: 1px solid #ffffff1f }
  li { display: flex; gap: 10px; padding: 2px 0 }
  li::before { content: attr(data-number); min-width: 2ch; text-align: right; color: #8b94a1;
    font-variant-numeric: tabular-nums }
  li span { overflow: hidden; text-overflow: ellipsis; white-space: nowrap }
  li.check::before { content: "✓"; color: #5fd38d }
  .frame { position: fixed; z-index: 2147483646; pointer-events: none; border: 2px solid #2f81f7;
    border-radius: 4px; background: #2f81f726 }
  [hidden] { display: none !important }
`;

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
    this.actions = new Map();
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
    if (event.type !== "click") return;
    const at = event.detail ? this.root.elementFromPoint(event.clientX, event.clientY) : this.root.activeElement;
    const button = at?.closest("button");
    if (button && !button.disabled) this.actions.get(button)?.();
  }

  build() {
    const say = (kind, more) => () => this.send({kind, ...more});
    const pick = (mode) => () => this.send({kind: "mode", mode: this.state?.mode === mode ? "" : mode});
    this.list = this.make("ol", {hidden: ""});
    this.count = this.make("span", {class: "count"});
    this.counter = this.button("", () => this.toggle(), "", "Show what was recorded");
    this.counter.append(this.make("span", {class: "dot"}), this.count);
    this.text = this.button("Check text", pick("text"), "", "Point at a text that has to be there at the end");
    this.value = this.button("Check value", pick("value"), "", "Point at a field whose value has to be this one");
    const address = this.button("Check address", say("address"), "", "The page has to be at this address at the end");
    this.undo = this.button("Undo", say("undo"), "", "Forget the last step or check; the page stays as it is");
    const move = this.button("↕", () => this.box.classList.toggle("top"), "", "Move the bar out of the way");
    const cancel = this.button("Cancel", say("cancel"), "", "End without a row");
    const finish = this.button("Finish", say("finish"), "main", "Try the checks, and end");
    const gap = () => this.make("span", {class: "gap"});
    const row = this.make("div", {class: "row"}, this.counter, gap(), this.text, this.value, address, gap(), this.undo,
      move, cancel, finish);
    this.said = this.make("div", {class: "said", role: "status"});
    this.box = this.make("div", {class: "box", role: "toolbar", "aria-label": "Recorder"}, this.list, row, this.said);
    this.root.append(this.box);
  }

  toggle() {
    this.isOpen = !this.isOpen;
    this.draw();
  }

  show(state) {
    this.state = state;
    if (!state.mode) this.point(null);
    if (this.box) this.draw();
  }

  draw() {
    const {steps, checks, items, mode, said, isWarning} = this.state ?? {items: [], steps: 0, checks: 0};
    const count = (number, noun) => `${number} ${noun}${number === 1 ? "" : "s"}`;
    this.count.textContent = `${count(steps, "step")} · ${count(checks, "check")}`;
    let number = 0;
    this.list.replaceChildren(...items.map(({text, isCheck}) => this.make(
      "li", {class: isCheck ? "check" : "step", "data-number": isCheck ? "" : String(++number)},
      this.make("span", {title: text}, text))));
    this.list.hidden = !this.isOpen || !items.length;
    this.list.scrollTop = this.list.scrollHeight;
    this.undo.disabled = !items.length;
    this.text.classList.toggle("on", mode === "text");
    this.value.classList.toggle("on", mode === "value");
    const hint = {text: "Click a text that has to be there at the end. Esc leaves.",
      value: "Click a field whose value has to be this one at the end. Esc leaves."}[mode];
    this.said.textContent = hint ?? said ?? "";
    this.said.classList.toggle("warn", !hint && Boolean(isWarning));
  }

  // Pages replace their body, and a modal dialog makes all beside it dead.
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
