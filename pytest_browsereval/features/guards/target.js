/* Tells what a call touches: the words on it, where it leads, and the address of the document that it is in.
   `root` is what the call names, or the document. In a document it is what lies at the point `at`, or has the
   focus. `isClick` says that the point decides, `isDrop` that something is dropped there, `keys` which keys are
   pressed, `choices` names options of a list, `isSearch` asks for the element itself. It runs in a world of its own: nothing here is the page's. */
(root, {isClick, isDrop, isSearch, keys, choices, at}) => {
  const SHOW = 300, OWN = 80, SEARCHED = 60;
  const ACTS = `a, area, button, input, select, textarea, summary, label, option, [onclick], [role=button],
    [role=link], [role^=menuitem], [role=option], [role=tab], [role=checkbox], [role=radio], [role=switch],
    [role=treeitem]`;
  const FRAMES = /^(i?frame|object|embed)$/;
  // A field of a form that is named `elements` or `parentElement` stands in for the form's own.
  const read = (one, name) => {
    for (let kind = Object.getPrototypeOf(one); kind; kind = Object.getPrototypeOf(kind)) {
      const found = Object.getOwnPropertyDescriptor(kind, name);
      if (found) return found.get ? found.get.call(one) : found.value;
    }
  };
  const call = (one, name, ...given) => read(one, name).call(one, ...given);
  const get = (one, name) => call(one, 'getAttribute', name) || '';
  const kind = (one) => read(one, 'localName');
  const up = (one) => read(one, 'assignedSlot') || read(one, 'parentElement') || call(one, 'getRootNode').host || null;
  const climb = (node) => { const found = []; for (; node; node = up(node)) found.push(node); return found; };
  const textOf = (one) => read(one, 'innerText') ?? read(one, 'textContent') ?? '';
  const texts = [], addresses = [];
  const say = (text) => { if (text && text.trim()) texts.push(text.trim().slice(0, SHOW)); };
  const lead = (address, one) => {
    if (!address) return;
    try { addresses.push(new URL(address, read(one, 'baseURI')).href); } catch (error) { addresses.push(address); }
  };
  const drawn = (one) => {
    for (const place of ['::before', '::after']) {
      const content = getComputedStyle(one, place).content;
      for (const [, part] of content.matchAll(/"((?:[^"\\]|\\.)*)"/g)) say(part.replace(/\\(.)/g, '$1'));
    }
  };
  const PRESSED = /^(submit|button|reset|image|checkbox|radio)$/;
  // To click a field that is typed into sets nothing off, under any name.
  const isField = (one) => !!one && (/^(textarea|select)$/.test(kind(one))
    || (kind(one) === 'input' && !PRESSED.test(one.type)));
  const name = (one) => {
    if (isField(one) || (kind(one) === 'label' && isField(one.control))) return;
    say(textOf(one));
    if (kind(one) === 'input' && /^(submit|button|reset|image)$/.test(one.type)) say(one.value);
    for (const key of ['aria-label', 'title', 'alt']) say(get(one, key));
    for (const id of get(one, 'aria-labelledby').split(/\s+/).filter(Boolean)) {
      const label = call(call(one, 'getRootNode'), 'getElementById', id);
      if (label) say(textOf(label));
    }
    for (const label of read(one, 'labels') || []) say(textOf(label));
    const parts = (selector) => [...call(one, 'querySelectorAll', selector)].slice(0, SEARCHED);
    for (const part of parts('img[alt], [aria-label], svg title'))
      say(get(part, 'aria-label') || get(part, 'alt') || part.textContent);
    for (const part of [one, ...parts('*')]) drawn(part);
  };
  const find = (within, look) => {
    let found = look(within);
    for (let inner; found?.shadowRoot && (inner = look(found.shadowRoot)) && inner !== found;) found = inner;
    return found;
  };
  const findAt = (point) => find(document, (within) => call(within, 'elementFromPoint', ...point));

  const findFocus = () => find(document, (within) => read(within, 'activeElement'));

  let element = root;
  if (root.nodeType === Node.DOCUMENT_NODE) element = at ? findAt(at) : findFocus();
  if (element?.nodeType === Node.TEXT_NODE) element = element.parentElement;
  if (isClick && !at && element) {
    const size = (box) => box && box.width * box.height > 0.99;
    const boxOf = () => [...call(element, 'getClientRects')].find(size);
    let box = boxOf();
    const middle = () => box && [box.x + box.width / 2, box.y + box.height / 2];
    const isSeen = ([x, y]) => x >= 0 && y >= 0 && x < innerWidth && y < innerHeight;
    if (box && !isSeen(middle())) {  // as the click will do
      call(element, 'scrollIntoView', {block: 'center', inline: 'center', behavior: 'instant'});
      box = boxOf();
    }
    at = middle() || null;
  }
  let hit = at && findAt(at);
  // What covers the element gets no click: the tool waits until it is gone. A map does not lie in its picture.
  if (hit && element && kind(hit) !== 'area' && !climb(hit).includes(element)) hit = null;
  hit = hit || element;
  if (isSearch) return hit;
  const page = location.href;
  if (!hit || hit.nodeType !== Node.ELEMENT_NODE) return {texts, addresses, page};

  const path = climb(hit);
  const isFrame = FRAMES.test(kind(hit));
  const {x, y} = call(hit, 'getBoundingClientRect');
  const found = {
    texts, addresses, page, at, isFrame, corner: [x + read(hit, 'clientLeft'), y + read(hit, 'clientTop')],
  };
  if (choices !== null) {
    for (const option of hit.options || [])
      if ([option.value, option.label, option.text].some((text) => choices.includes(text))) say(option.label || option.text);
    choices.forEach(say);
    return found;
  }
  if (isDrop) for (const one of path) {
    const text = textOf(one).trim();
    if (text.length > OWN) break;
    say(text);
    for (const key of ['aria-label', 'title']) say(get(one, key));
  }

  // Keys choose in lists and among radio buttons.
  const move = (all, place, isRing) => {
    const ends = (next) => (isRing ? (next + all.length) % all.length : Math.max(0, Math.min(next, all.length - 1)));
    const first = {home: 0, end: all.length - 1}, steps = {arrowdown: 1, arrowright: 1, arrowup: -1, arrowleft: -1};
    return keys.flatMap((key) => {
      if (key in steps) return all.slice(ends(place + steps[key])).slice(0, 1);
      if (key in first) return all.slice(first[key]).slice(0, 1);
      if (key === 'pagedown') return all.slice(place + 1);
      return key === 'pageup' ? all.slice(0, Math.max(place, 0)) : [];
    });
  };
  if (kind(hit) === 'select') {
    const all = [...hit.options].filter((one) => !one.disabled), labels = all.map((one) => one.label || one.text);
    const begins = (text) => keys.some((key) => key.trim() && text.trim().toLowerCase().startsWith(key));
    [...move(labels, all.findIndex((one) => one.selected), false), ...labels.filter(begins)].forEach(say);
  } else if (kind(hit) === 'input' && hit.type === 'radio') {
    const radios = [...call(call(hit, 'getRootNode'), 'querySelectorAll', 'input[type=radio]')];
    const group = radios.filter((one) => one.name === hit.name && one.form === hit.form && !one.disabled);
    move(group, group.indexOf(hit), true).forEach(name);
  }
  const isEnter = keys.includes('enter'), isEditable = isField(hit) || read(hit, 'isContentEditable');
  if (!isClick && !isEnter && (isEditable || !keys.includes(' '))) return found;

  const isPointer = (one) => one && getComputedStyle(one).cursor === 'pointer';
  const own = path.find((one, place) => !/^(html|body)$/.test(kind(one))
    && (call(one, 'matches', ACTS) || (isPointer(one) && !isPointer(path[place + 1]))));
  if (own) name(own);
  else if (!/^(html|body)$/.test(kind(hit))) {
    const text = [...read(hit, 'childNodes')].filter((one) => one.nodeType === 3).map((one) => one.data).join(' ');
    if (text.trim().length <= OWN) say(text);
    drawn(hit);
  }
  if (own && hit !== own) for (const key of ['aria-label', 'title', 'alt']) say(get(hit, key));

  for (const link of path.filter((one) => /^(a|area)$/.test(kind(one)))) {
    const given = link.href;  // of SVG an object
    if (given && typeof given === 'object') [given.animVal, given.baseVal].forEach((one) => lead(one, link));
    else lead(given, link);
    for (const ping of get(link, 'ping').split(/\s+/)) lead(ping, link);
  }
  const controls = path.filter((one) => /^(button|input|select|textarea)$/.test(kind(one)));
  for (const label of path) if (kind(label) === 'label' && label.control) {
    if (!controls.includes(label.control)) controls.push(label.control);
    name(label.control);
  }
  const send = (form, button) => {
    const action = (button && get(button, 'formaction')) || get(form, 'action');
    lead(action || location.href, form);
  };
  for (const one of controls) {
    const isSubmit = /^(submit|image)$/.test(one.type || '');
    if (one.form && isSubmit) send(one.form, one);
    if (!one.form || !isEnter || isSubmit) continue;
    send(one.form);
    for (const button of read(one.form, 'elements')) if (/^(submit|image)$/.test(button.type || '')) {
      name(button);
      send(one.form, button);
    }
  }
  return found;
}
