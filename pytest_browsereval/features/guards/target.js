/* Tells what a call touches: the words on it, where it leads, and the addresses of the pages that it is in.
   `given` is what the call names, or what lies at its point; `at` is that point, or null for the middle;
   `isClick` says that the point decides, `isEnter` that a form is sent, `choice` names an option of a list. */
({given, isClick, isEnter, choice, at}) => {
  const SHOW = 300, OWN = 80, SEARCHED = 60;
  const ACTS = `a, area, button, input, select, textarea, summary, label, option, [onclick], [role=button],
    [role=link], [role^=menuitem], [role=option], [role=tab], [role=checkbox], [role=radio], [role=switch],
    [role=treeitem]`;
  const HOSTS = /-|^(article|aside|blockquote|body|div|footer|h[1-6]|header|main|nav|p|section|span)$/;
  const FRAMES = /^(i?frame|object|embed)$/;
  // A field of a form that is named `elements` or `getAttribute` stands in for the form's own.
  const get = (one, name) => Element.prototype.getAttribute.call(one, name) || '';
  const fields = Object.getOwnPropertyDescriptor(HTMLFormElement.prototype, 'elements').get;
  const up = (node) => node.assignedSlot || node.parentElement || node.getRootNode().host || null;
  const climb = (node) => { const found = []; for (; node; node = up(node)) found.push(node); return found; };
  const texts = [], addresses = [];
  const say = (text) => { if (text && text.trim()) texts.push(text.trim().slice(0, SHOW)); };
  const lead = (address, one) => {
    if (!address) return;
    try { addresses.push(new URL(address, one.baseURI).href); } catch (error) { addresses.push(address); }
  };
  const drawn = (one) => {
    for (const place of ['::before', '::after']) {
      const content = getComputedStyle(one, place).content;
      for (const [, part] of content.matchAll(/"((?:[^"\\]|\\.)*)"/g)) say(part.replace(/\\(.)/g, '$1'));
    }
  };
  const PRESSED = /^(submit|button|reset|image|checkbox|radio)$/;
  // To click a field that is typed into sets nothing off, whatever it is called.
  const isField = (one) => !!one && (/^(textarea|select)$/.test(one.localName)
    || (one.localName === 'input' && !PRESSED.test(one.type)));
  const name = (one) => {
    if (isField(one) || (one.localName === 'label' && isField(one.control))) return;
    say(one.innerText ?? one.textContent);
    if (one.localName === 'input' && /^(submit|button|reset|image)$/.test(one.type)) say(one.value);
    for (const key of ['aria-label', 'title', 'alt']) say(get(one, key));
    for (const id of get(one, 'aria-labelledby').split(/\s+/).filter(Boolean))
      say(one.getRootNode().getElementById(id)?.innerText);
    for (const label of one.labels || []) say(label.innerText);
    for (const part of [...one.querySelectorAll('img[alt], [aria-label], svg title')].slice(0, SEARCHED))
      say(get(part, 'aria-label') || get(part, 'alt') || part.textContent);
    for (const part of [one, ...one.querySelectorAll('*')].slice(0, SEARCHED)) drawn(part);
  };
  const find = (x, y) => {
    let found = document.elementFromPoint(x, y);
    for (let inner; found?.shadowRoot && (inner = found.shadowRoot.elementFromPoint(x, y)) && inner !== found;)
      found = inner;
    return found;
  };

  let element = given && given.nodeType === 3 ? given.parentElement : given;
  let isPlain = false;
  if (isClick && !at && element) {
    const size = (box) => box && box.width * box.height > 0.99;
    const boxOf = () => [...element.getClientRects()].find(size);
    let box = boxOf();
    const middle = () => box && [box.x + box.width / 2, box.y + box.height / 2];
    const isSeen = ([x, y]) => x >= 0 && y >= 0 && x < innerWidth && y < innerHeight;
    if (box && !isSeen(middle())) {  // as the click will do
      element.scrollIntoView({block: 'center', inline: 'center', behavior: 'instant'});
      box = boxOf();
    }
    at = middle() || null;
  }
  let hit = at && find(...at);
  // What covers the element gets no click: the tool waits until it is gone. A map does not lie in its picture.
  if (hit && element && hit.localName !== 'area' && !climb(hit).includes(element)) hit = null;
  hit = hit || element;
  if (!hit || !hit.getRootNode) return {texts, addresses, page: location.href};

  const path = climb(hit);
  if (choice !== null) {
    for (const option of hit.options || [])
      if ([option.value, option.label, option.text].includes(choice)) say(option.label || option.text);
    say(choice);
    return {texts, addresses, page: location.href};
  }
  const isPointer = (one) => one && getComputedStyle(one).cursor === 'pointer';
  const own = path.find((one, place) => !/^(html|body)$/.test(one.localName)
    && (one.matches(ACTS) || (isPointer(one) && !isPointer(path[place + 1]))));
  if (own) name(own);
  else if (!/^(html|body)$/.test(hit.localName)) {
    const text = [...hit.childNodes].filter((one) => one.nodeType === 3).map((one) => one.data).join(' ');
    if (text.trim().length <= OWN) say(text);
    drawn(hit);
  }
  if (own && hit !== own) for (const key of ['aria-label', 'title', 'alt']) say(get(hit, key));

  for (const link of path.filter((one) => /^(a|area)$/.test(one.localName))) {
    const given = link.href;  // of SVG an object
    if (given && typeof given === 'object') [given.animVal, given.baseVal].forEach((one) => lead(one, link));
    else lead(given, link);
    for (const ping of get(link, 'ping').split(/\s+/)) lead(ping, link);
  }
  const controls = path.filter((one) => /^(button|input|select|textarea)$/.test(one.localName));
  for (const label of path) if (label.localName === 'label' && label.control) {
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
    for (const button of fields.call(one.form)) if (/^(submit|image)$/.test(button.type || '')) {
      name(button);
      send(one.form, button);
    }
  }
  return {texts, addresses, page: location.href, at, scroll: [scrollX, scrollY],
          isFrame: FRAMES.test(hit.localName), mayHide: !hit.shadowRoot && HOSTS.test(hit.localName)};
}
