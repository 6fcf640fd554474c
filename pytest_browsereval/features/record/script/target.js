// Targets as a person would write them: role and name, label, text, test id, a name within a row, CSS.

const LONGEST_NAME = 80;
const LONGEST_TARGET = 500;
const LONGEST_LOOK_MS = 1500;
const FIELD_TYPES = ["button", "submit", "reset", "image", "checkbox", "radio", "file", "hidden"];
const TEST_IDS = ["data-testid", "data-test-id", "data-test", "data-cy", "data-qa"];
const ACTIVE = `a[href], area[href], button, input, select, textarea, summary, option, [contenteditable],
  [role=button], [role=link], [role=checkbox], [role=radio], [role=switch], [role=tab], [role=menuitem],
  [role=menuitemcheckbox], [role=menuitemradio], [role=option], [role=textbox], [role=searchbox],
  [role=combobox], [role=slider], [role=spinbutton], [role=treeitem], [role=gridcell]`;
const SCOPES = `li, tr, article, section, fieldset, form, dialog, [role=row], [role=listitem], [role=group],
  [role=dialog], [role=article]`;
const ROLES = {
  article: "article", button: "button", dialog: "dialog", fieldset: "group", h1: "heading", h2: "heading",
  h3: "heading", h4: "heading", h5: "heading", h6: "heading", li: "listitem", option: "option",
  output: "status", td: "cell", textarea: "textbox", th: "columnheader", tr: "row",
};
const ROLES_OF_INPUTS = {
  button: "button", checkbox: "checkbox", file: "button", hidden: "", image: "button", number: "spinbutton",
  radio: "radio", range: "slider", reset: "button", submit: "button",
};
const KNOWN_ROLES = new Set([
  ...Object.values(ROLES), "alert", "checkbox", "combobox", "gridcell", "img", "link", "listbox", "menuitem",
  "menuitemcheckbox", "menuitemradio", "progressbar", "radio", "rowheader", "searchbox", "slider",
  "spinbutton", "switch", "tab", "textbox", "tooltip", "treeitem",
]);
// Their content is their name.
const NAMED_BY_CONTENT = new Set([
  "button", "cell", "checkbox", "columnheader", "gridcell", "heading", "link", "menuitem", "menuitemcheckbox",
  "menuitemradio", "option", "radio", "row", "rowheader", "switch", "tab", "tooltip", "treeitem",
]);

const flat = (text) => String(text ?? "").replace(/[\u200b\u00ad]/g, "").replace(/\s+/g, " ").trim();
const quote = (text) => `"${text.replace(/[\\"]/g, "\\$&")}"`;

// What a person can read and type: no icons of a font, no marks of direction, on one line. `>>>` leads into a frame.
const isPlain = (text, most = LONGEST_NAME) =>
  text.length > 0 && text.length <= most && !text.includes(">>>") && !/[\p{Cc}\p{Cf}\p{Co}\p{Cn}\p{Cs}]/u.test(text);

// While the targets of an element are looked for, the page stands still: what was found out once holds.
let memory = null, deadline = 0;

const remember = (find) => {
  const kind = Symbol("kind");
  return (one) => {
    if (!memory) return find(one);
    if (!memory.has(kind)) memory.set(kind, new Map());
    const known = memory.get(kind);
    if (!known.has(one)) known.set(one, find(one));
    return known.get(one);
  };
};

const isLate = () => memory !== null && performance.now() > deadline;

// Those that pass, as many as asked for; none once a page has proved too large to look through.
function findSome(all, most, test) {
  const found = [];
  for (const one of all) {
    if (isLate()) return [];
    if (test(one) && found.push(one) === most) break;
  }
  return found;
}

const isOnly = (all, one, test) => {
  const found = findSome(all, 2, test);
  return found.length === 1 && found[0] === one;
};

function* rootsIn(root) {
  yield root;
  for (const one of root.querySelectorAll("*")) if (one.shadowRoot) yield* rootsIn(one.shadowRoot);
}

const rootsOf = remember((start) => [...rootsIn(start)]);
const findAll = remember((selector) => rootsOf(document).flatMap((root) => [...root.querySelectorAll(selector)]));
const textOf = remember((one) => flat(one.textContent));

const parentOf = (one) => one.assignedSlot ?? one.parentElement ?? one.getRootNode().host ?? null;

function closest(one, selector) {
  while (one && !one.matches(selector)) one = parentOf(one);
  return one;
}

const isHidden = remember((one) => {
  for (let at = one; at; at = parentOf(at)) {
    if (at.getAttribute("aria-hidden") === "true" || at.inert) return true;
  }
  return !one.checkVisibility({visibilityProperty: true});
});

const isTextField = (one) =>
  one.localName === "textarea" || (one.localName === "input" && !FIELD_TYPES.includes(one.type)) ||
  one.isContentEditable;

// -- role and accessible name, as Playwright computes them for what people click and fill

const roleOf = remember((one) => {
  const given = flat(one.getAttribute("role")).split(" ")[0];
  if (given) return KNOWN_ROLES.has(given) ? given : "";
  if (one.localName === "input") {
    const hasList = one.hasAttribute("list");
    if (one.type === "search") return hasList ? "combobox" : "searchbox";
    if (["email", "tel", "text", "url"].includes(one.type)) return hasList ? "combobox" : "textbox";
    return ROLES_OF_INPUTS[one.type] ?? "textbox";
  }
  if (one.localName === "select") return one.multiple || one.size > 1 ? "listbox" : "combobox";
  if (["a", "area"].includes(one.localName)) return one.hasAttribute("href") ? "link" : "";
  if (one.localName === "img") return one.getAttribute("alt") === "" ? "" : "img";
  return Object.hasOwn(ROLES, one.localName) ? ROLES[one.localName] : "";
});

function decorationOf(one, place) {
  const content = getComputedStyle(one, place).content;
  return /^"(?:[^"\\]|\\.)*"$/.test(content) ? content.slice(1, -1).replace(/\\(.)/g, "$1") : "";
}

function contentOf(node, isTop = true) {
  if (node.nodeType === Node.TEXT_NODE) return node.data;
  if (node.nodeType !== Node.ELEMENT_NODE || ["script", "style", "noscript"].includes(node.localName)) return "";
  if (!isTop) {
    const style = getComputedStyle(node);
    const isSeen = style.display !== "none" && style.visibility === "visible";
    if (!isSeen || node.getAttribute("aria-hidden") === "true") return "";
    const label = flat(node.getAttribute("aria-label"));
    if (label) return ` ${label} `;
    if (node.localName === "img") return node.alt;
    if (node.localName === "svg") return node.querySelector(":scope > title")?.textContent ?? "";
    if (node.localName === "select") return flat(node.selectedOptions[0]?.textContent);
    if (isTextField(node) && node.localName !== "div" && "value" in node) return node.value;
  }
  const inner = node.shadowRoot ? node.shadowRoot.childNodes :
    node.localName === "slot" && node.assignedNodes().length ? node.assignedNodes() : node.childNodes;
  const parts = [...inner].map((child) => contentOf(child, false)).join("");
  const text = decorationOf(node, "::before") + parts + decorationOf(node, "::after");
  const isInline = getComputedStyle(node).display === "inline" && node.localName !== "br";
  return isInline ? text : ` ${text} `;
}

const referencedBy = (one) =>
  flat(one.getAttribute("aria-labelledby")).split(" ").filter(Boolean)
    .map((id) => one.getRootNode().getElementById(id)).filter(Boolean);

function labelOf(one) {
  const parts = [...(one.labels ?? [])].map((label) => {
    const copy = [...label.childNodes].map((node) => node.contains(one) && node !== one ? nodesAround(node, one) :
      node === one ? "" : contentOf(node, false));
    return flat(copy.join(""));
  });
  return flat(parts.join(" "));
}

function nodesAround(node, one) {
  return [...node.childNodes].map((child) => child === one ? "" :
    child.contains(one) ? nodesAround(child, one) : contentOf(child, false)).join("");
}

const nameOf = remember((one) => {
  const referenced = referencedBy(one);
  if (referenced.length) return flat(referenced.map((each) => contentOf(each)).join(" "));
  const label = flat(one.getAttribute("aria-label"));
  if (label) return label;
  const role = roleOf(one), title = flat(one.title);
  if (one.localName === "input" && ["button", "submit", "reset"].includes(one.type)) {
    return flat(one.value) || {submit: "Submit", reset: "Reset"}[one.type] || title;
  }
  if (one.localName === "input" && one.type === "image") return flat(one.alt || one.value) || title || "Submit";
  if (one.localName === "img") return flat(one.alt) || title;
  if (one.labels?.length) return labelOf(one);
  if (one.localName === "fieldset") return flat(one.querySelector(":scope > legend")?.textContent) || title;
  if (isTextField(one)) return title || flat(one.placeholder);
  const text = NAMED_BY_CONTENT.has(role) ? flat(contentOf(one)) : "";
  return text || title;
});

// -- candidates, the best one first

const isUnique = (selector, one) => {
  const found = findAll(selector);
  return found.length === 1 && found[0] === one;
};

function* byRole(one) {
  const role = roleOf(one), name = nameOf(one);
  if (!role || !isPlain(name) || isHidden(one)) return;
  if (isOnly(findAll("*"), one, (other) => roleOf(other) === role && nameOf(other) === name && !isHidden(other))) {
    yield `role=${role}[name=${quote(name)}]`;
  }
}

// What `label=` looks for, which has no other name than this.
function labelsOf(one) {
  const referenced = referencedBy(one);
  if (referenced.length) return referenced.map((each) => flat(each.textContent));
  const given = one.getAttribute("aria-label");
  return given ? [flat(given)] : [...(one.labels ?? [])].map((label) => flat(label.textContent));
}

function* byLabel(one) {
  for (const label of labelsOf(one)) {
    if (!isPlain(label) || /["\\]/.test(label)) continue;
    const same = findSome(findAll("*"), 2, (other) => labelsOf(other).includes(label));
    if (same.length === 1) yield /^[\p{L}\p{N} ,.:?!*'/-]+$/u.test(label) ? `label=${label}` : `label="${label}"`;
  }
}

function* byText(one) {
  const text = textOf(one);
  if (isTextField(one) || !isPlain(text) || ["select", "body", "html"].includes(one.localName)) return;
  const has = (other) => textOf(other) === text;
  const same = findSome(findAll("body *"), 2,
    (other) => !["script", "style", "noscript"].includes(other.localName) && has(other) && ![...other.children].some(has),
  );
  if (same.length === 1 && (one.contains(same[0]) || same[0].contains(one))) yield `text=${quote(text)}`;
}

const attribute = (one, name) => {
  const value = one.getAttribute(name) ?? "";
  return isPlain(value) ? `[${name}=${quote(value)}]` : "";
};

function* byTestId(one) {
  for (const name of TEST_IDS) {
    const selector = attribute(one, name);
    if (selector && isUnique(selector, one)) yield selector;
  }
}

function* textsIn(scope, one) {
  const seen = new Set();
  const walk = document.createTreeWalker(scope, NodeFilter.SHOW_TEXT);
  const headings = [...scope.querySelectorAll("h1, h2, h3, h4, h5, h6, [role=heading], th, legend")];
  for (const heading of headings) if (!heading.contains(one)) seen.add(flat(heading.textContent));
  for (let node = walk.nextNode(); node && seen.size < 8; node = walk.nextNode()) {
    if (!one.contains(node) && !node.parentElement.closest("button, a, script, style")) seen.add(flat(node.data));
  }
  for (const text of seen) if (isPlain(text, 60)) yield text;
}

// As in: the button "Delete" of the row that says "Milk".
function* byScope(one) {
  const role = roleOf(one), name = nameOf(one);
  if (!role || !isPlain(name) || isHidden(one)) return;
  const twins = findSome(findAll("*"), Infinity,
    (other) => roleOf(other) === role && nameOf(other) === name && !isHidden(other));
  for (let scope = parentOf(one); scope && scope !== document.body; scope = parentOf(scope)) {
    const kind = kindOf(scope);
    for (const text of kind ? textsIn(scope, one) : []) {
      const wanted = text.toLowerCase();
      const scopes = new Set(findSome(findAll(kind), Infinity, (other) => textOf(other).toLowerCase().includes(wanted)));
      const isInside = (twin) => { for (let at = twin.parentElement; at; at = at.parentElement) if (scopes.has(at)) return true; };
      if (isOnly(twins, one, isInside)) {
        yield `${kind}:has-text(${quote(text)}) >> role=${role}[name=${quote(name)}]`;
        return;
      }
    }
  }
}

// What a person would call one of several alike: a list item, a row, a `.card`; empty if it has no such name.
function kindOf(scope) {
  const given = scope.getAttribute("role");
  if (given && KNOWN_ROLES.has(given) && scope.matches(SCOPES)) return `[role=${given}]`;
  if (scope.matches(SCOPES)) return scope.localName;
  const word = [...scope.classList].find((each) => /^[a-z]+([-_][a-z]+)*$/i.test(each) && each.length <= 30);
  return word ? `.${word}` : "";
}

// Made by a program, and another one tomorrow: `:r1:`, `ember123`, parts of a hash.
const isSteady = (id) => isPlain(id, 40) && !/\d{3}|^\d|:|[0-9a-f]{8}/i.test(id);

function pathIn(root, one) {
  const parts = [];
  for (let at = one; at && at !== document.body; at = at.parentElement) {
    if (isSteady(at.id) && root.querySelectorAll(`#${CSS.escape(at.id)}`).length === 1) {
      return [`#${CSS.escape(at.id)}`, ...parts].join(" > ");
    }
    const same = [...(at.parentElement ?? root).children].filter((other) => other.localName === at.localName);
    const name = CSS.escape(at.localName);
    parts.unshift(same.length > 1 ? `${name}:nth-of-type(${same.indexOf(at) + 1})` : name);
    const path = parts.join(" > ");
    if (parts.length > 1 && root.querySelectorAll(path).length === 1) return path;
  }
  return (root === document ? ["body", ...parts] : parts).join(" > ");
}

function shortCss(one) {
  const name = CSS.escape(one.localName);
  const named = ["name", "placeholder", "title", "alt", "aria-label", "href", "type"].map((key) => attribute(one, key));
  return [isSteady(one.id) ? `#${CSS.escape(one.id)}` : "", ...named.map((each) => each && name + each)].filter(Boolean);
}

function* byCss(one) {
  for (const selector of shortCss(one)) if (isUnique(selector, one)) yield selector;
  const role = roleOf(one);
  const isAlike = (other) => roleOf(other) === role && !isHidden(other);
  if (role && one.matches(ACTIVE) && isOnly(findAll("*"), one, isAlike)) yield `role=${role}`;
  const root = one.getRootNode();
  const path = pathIn(root, one);
  yield root === document ? path : `${pathIn(root.host.getRootNode(), root.host)} >> ${path}`;
}

const WAYS = [byRole, byLabel, byText, byTestId, byScope, byCss];

function* within(prefix, one) {
  for (const way of WAYS) {
    for (const target of way(one)) {
      if (prefix.length + target.length <= LONGEST_TARGET) yield prefix + target;
    }
  }
}

// What the targets of a frame begin with; null while nobody knows, as in a frame of another site.
function prefixOf(view) {
  if (view === view.top) return "";
  let frame = null;
  try { frame = view.frameElement; } catch { /* of another site */ }
  if (!frame) return view.browserevalRecorder?.prefix ?? null;
  const outer = prefixOf(frame.ownerDocument.defaultView);
  return outer === null ? null : frameTarget(frame, outer);
}

function frameTarget(frame, outer) {
  const all = [...rootsIn(frame.ownerDocument)].flatMap((root) => [...root.querySelectorAll("iframe, frame")]);
  const name = frame.localName, root = frame.getRootNode();
  const tries = all.length === 1 ? [name] : shortCss(frame).filter((each) => !each.includes("[href"));
  const only = tries.find((each) => all.filter((other) => other.matches(each)).length === 1);
  return `${outer}${only ?? pathIn(root, frame)} >>> `;
}

function candidatesFor(one) {
  const prefix = prefixOf(window);
  [memory, deadline] = [new Map(), performance.now() + LONGEST_LOOK_MS];
  try {
    return prefix === null ? [] : [...new Set(within(prefix, one))].slice(0, 8);
  } finally {
    memory = null;
  }
}

// -- the value of a field, as an expression for a check

function expressionFor(one) {
  const steps = [];
  for (let at = one; at; ) {
    const root = at.getRootNode();
    const own = shortCss(at).find((each) => root.querySelectorAll(each).length === 1) ?? pathIn(root, at);
    steps.unshift(`querySelector(${JSON.stringify(own)})`);
    if (root instanceof ShadowRoot) {
      steps.unshift("shadowRoot");
      at = root.host;
    } else {
      const view = root.defaultView;
      if (view === view.top) break;
      if (!view.frameElement) return null;
      steps.unshift("contentDocument");
      at = view.frameElement;
    }
  }
  const key = ["checkbox", "radio"].includes(one.type) ? "checked" : one.isContentEditable ? "innerText" : "value";
  return `document.${steps.join("?.")}?.${key}`;
}
