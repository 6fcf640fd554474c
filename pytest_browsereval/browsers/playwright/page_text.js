// Reads the text of a document or an element, in a world of its own, which the page neither sees nor changes.
// `\x05N\x05` stands for a frame that can only be asked itself; it is `frames[N]` of this world.
() => {
  const [BLOCK, SPACE, CELL, KEPT] = ['\x01', '\x02', '\x03', '\x04'];
  const UNSEEN = /[\x00-\x08\xad\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff]/;
  const IGNORED = /^(STYLE|SCRIPT|NOSCRIPT|TEMPLATE)$/;
  const REPLACED = /^(AUDIO|CANVAS|EMBED|IMG|METER|OBJECT|PROGRESS|SVG|VIDEO)$/;
  const NAMED = '[alt], [aria-label], [aria-labelledby], [title], svg';
  // What takes no name: on these, `aria-label` and `title` say nothing to assistive technology.
  const NAMELESS = /^(body|caption|code|definition|deletion|del|dfn|emphasis|em|generic|html|insertion|ins|mark|none|p|paragraph|presentation|strong|sub|subscript|suggestion|sup|superscript|term|time)$/i;
  // Where a name comes from the contents, a `title` is one only if there are none.
  const NAMED_BY_CONTENT = /^(a|button|cell|checkbox|columnheader|gridcell|h[1-6]|heading|link|menuitem|menuitemcheckbox|menuitemradio|option|radio|row|rowheader|summary|switch|tab|td|th|tooltip|tr|treeitem)$/i;

  // Fields of a form that are named "childNodes" or "matches" hide its own properties, in this world too.
  const getter = (type, name) => { const {get} = Object.getOwnPropertyDescriptor(type.prototype, name); return (of) => get.call(of); };
  const method = (type, name) => { const own = type.prototype[name]; return (of, ...given) => own.apply(of, given); };
  const [typeOf, childNodes, parentOf, documentOf] = ['nodeType', 'childNodes', 'parentElement', 'ownerDocument'].map((name) => getter(Node, name));
  const [tagName, shadowOf] = ['tagName', 'shadowRoot'].map((name) => getter(Element, name));
  const [attribute, matches, isRendered, boxOf] = ['getAttribute', 'matches', 'checkVisibility', 'getBoundingClientRect'].map((name) => method(Element, name));
  const [bodyOf, rootOf, viewOf] = ['body', 'documentElement', 'defaultView'].map((name) => getter(Document, name));

  const clean = (text) => text.replace(new RegExp(UNSEEN, 'g'), '');
  const flat = (text) => clean(text).replace(/\s+/g, ' ').trim();
  const hasBox = (element) => { const box = boxOf(element); return box.width > 0 && box.height > 0; };

  const generated = (view, element, kind) => {
    const style = view.getComputedStyle(element, kind), content = style.content;
    if (!content || content === 'none' || content === 'normal' || style.display === 'none' || style.visibility !== 'visible') return '';
    const parts = content.match(/"(?:\\.|[^"\\])*"|[^\s"]+/g) ?? [];
    let text = '';
    for (const part of parts.slice(parts.lastIndexOf('/') + 1)) {  // what follows a slash is read aloud instead
      const named = /^attr\((.+)\)$/.exec(part);
      if (part[0] === '"') text += part.slice(1, -1).replace(/\\(?:[0-9a-f]{1,6} ?|(.))/gi, (_, sign) => sign ?? ' ');
      else if (named) text += attribute(element, named[1]) ?? '';
      else return '';
    }
    return style.display === 'inline' ? clean(text) : SPACE + clean(text) + SPACE;
  };

  const namesOf = (element, tag, display) => {
    if (!matches(element, NAMED)) return ['', ''];
    const role = attribute(element, 'role')?.trim().split(/\s+/)[0] ?? '', inside = childNodes(element);
    const isPlain = !role && display === 'inline' && tag !== 'A' && tag !== 'OUTPUT' && inside.length === 1 && typeOf(inside[0]) === 3;
    if (isPlain || NAMELESS.test(role || tag)) return ['', ''];
    const read = (name) => flat(attribute(element, name) ?? '');
    const labels = [...(element.ariaLabelledByElements ?? [])];
    const hidden = labels.filter((label) => !isRendered(label, {visibilityProperty: true})).map((label) => label.textContent);
    const drawn = tag === 'SVG' ? [...inside].find((one) => one.localName === 'title')?.textContent ?? '' : '';
    return [flat(hidden.join(' ')) || (labels.length ? '' : read('aria-label') || read('alt') || flat(drawn)), read('title')];
  };

  const fieldText = (field) => {
    if (field.type === 'file') return field.labels?.length ? '' : 'Choose File';
    if (field.type === 'checkbox' || field.type === 'radio') return '';
    if (field.type === 'submit' || field.type === 'reset') return field.value || (field.type === 'submit' ? 'Submit' : 'Reset');
    if (field.type === 'image') return field.alt ? '' : field.title || 'Submit';
    return field.value;
  };
  const placeholderOf = (field, tag) => {
    const isTextbox = tag === 'TEXTAREA' || (!/^(number|search)$/.test(field.type) && !field.list);
    return isTextbox || !field.labels?.length ? clean(field.placeholder) : '';
  };
  const optionTexts = (select, view) => [...select.querySelectorAll('option, optgroup')]
    .filter((one) => !one.closest('[hidden]') && view.getComputedStyle(one).display !== 'none')
    .map((one) => clean(one.text || one.label)).join(BLOCK);

  const childrenOf = (element, tag) => {
    const shadow = shadowOf(element);
    if (shadow) return childNodes(shadow);
    const assigned = tag === 'SLOT' ? element.assignedNodes() : [];
    return assigned.length ? assigned : childNodes(element);
  };

  const read = (root, limit) => {
    const out = [], stack = [[root, true, Boolean(root.closest?.('[aria-hidden=true]')), null]];
    let size = 0, lastEnd = -1;
    const frames = globalThis.browserevalFrames = [];
    const add = (text) => { size += text.length; out.push(text); };
    const addText = (text, style) => {
      if (UNSEEN.test(text)) text = clean(text);
      if (/[\t\n\r\f]|  /.test(text)) {
        const isKept = !style || /^(pre|break-spaces)/.test(style.whiteSpace);
        text = isKept ? text.replace(/ /g, KEPT) : text.replace(/[ \t\n\r\f]+/g, ' ');
      }
      add(text);
    };

    const visit = (node, isShown, isAriaHidden, style) => {
      if (typeOf(node) === 3) {
        const parent = parentOf(node);
        const isSkipped = style?.contentVisibility === 'hidden' || (parent?.localName === 'details' && !parent.open);
        if (isShown && !isSkipped) addText(node.data, style);
        return;
      }
      if (typeOf(node) !== 1) return;
      const tag = tagName(node).toUpperCase(), view = viewOf(documentOf(node));
      if (!view || IGNORED.test(tag)) return;
      const own = view.getComputedStyle(node), display = own.display, isContents = display === 'contents';
      if (display === 'none' || (!isContents && !isRendered(node))) return;
      const ariaHidden = isAriaHidden || attribute(node, 'aria-hidden') === 'true';
      const isThere = isContents || !ariaHidden || hasBox(node), shown = isThere && own.visibility === 'visible';
      if (tag === 'IFRAME' || tag === 'FRAME') {
        if (!shown || !hasBox(node)) return;
        add(BLOCK);
        const inner = node.contentDocument, start = inner && (bodyOf(inner) ?? rootOf(inner));
        if (!inner) add(`\x05${frames.push(node) - 1}\x05${BLOCK}`);
        else if (start) stack.push(() => add(BLOCK), [start, true, false, null]);
        return;
      }
      if (tag === 'BR') { add(BLOCK); return; }
      const isInline = display === 'inline' || isContents;
      const border = REPLACED.test(tag) ? SPACE : isInline ? '' : display === 'table-cell' ? CELL : /^(inline|ruby)/.test(display) ? SPACE : BLOCK;
      // Two links, one right after the other, are two words though no box parts them.
      const isAtom = tag === 'A' || attribute(node, 'role') !== null;
      if (border) add(border);
      else if (isAtom && lastEnd === out.length) add(SPACE);
      const [name, title] = shown ? namesOf(node, tag, display) : ['', ''];
      const at = name || title ? out.push('') - 1 : -1;
      const before = isThere ? generated(view, node, '::before') : '', after = isThere ? generated(view, node, '::after') : '';
      if (before) add(before);
      if (after || at >= 0 || border || isAtom) stack.push(() => {
        if (after) add(after);
        if (at >= 0) {
          const inside = out.slice(at).join('').replace(/\s+/g, ' ');
          const isNamed = name || node.labels?.length || (NAMED_BY_CONTENT.test(attribute(node, 'role') ?? tag) && /[^\s\x00-\x08]/.test(inside));
          const more = name && !inside.includes(name) ? name : isNamed ? '' : title;
          if (more) { out[at] = SPACE + more + SPACE; size += more.length; }
        }
        if (border) add(border);
        else if (isAtom) lastEnd = out.length;
      });
      if (tag === 'SELECT') { if (shown) add(optionTexts(node, view)); return; }
      if (tag === 'INPUT' || tag === 'TEXTAREA') {
        if (shown) { addText(fieldText(node)); add(SPACE + placeholderOf(node, tag)); }
        return;
      }
      const inside = childrenOf(node, tag);
      for (let place = inside.length - 1; place >= 0; place--) stack.push([inside[place], shown, ariaHidden, own]);
    };

    while (stack.length && size <= limit) {
      const next = stack.pop();
      if (typeof next === 'function') next();
      else visit(...next);
    }
    const value = out.join('')
      .replace(/[ \x02\x03]*\x01[ \x01\x02\x03]*/g, '\n')
      .replace(/[ \x02]*\x03[ \x02\x03]*/g, '\t')
      .replace(/[ \x02]*\x02[ \x02]*/g, ' ')
      .replace(/ {2,}/g, ' ')
      .replace(/\x04/g, ' ')
      .trim();
    return {value, cut: stack.length > 0, frames: frames.length};
  };

  // A field that is asked for itself gives what it holds.
  const valueOf = (element, tag) => {
    if (tag === 'SELECT') return [...element.selectedOptions].map((option) => option.text || option.label).join('\n');
    return tag === 'INPUT' || tag === 'TEXTAREA' ? fieldText(element) : null;
  };

  return (root, limit) => {
    const isPage = typeOf(root) === 9, element = isPage ? bodyOf(root) ?? rootOf(root) : root;
    const value = isPage || !element ? null : valueOf(element, tagName(element).toUpperCase());
    return value === null && element ? read(element, limit) : {value: value ?? '', cut: false, frames: 0};
  };
}
