  const COMBO = '[role=combobox]:not(select), [aria-haspopup=listbox]:not(select)', BOX = '[role=listbox]';
  const flat = (text) => (text ?? '').trim().replace(/\s+/g, ' ');
  const hasArea = (el) => el.offsetWidth > 0 && el.offsetHeight > 0
    && el.checkVisibility({visibilityProperty: true});
  const combo = (one) => {
    const el = control(one);
    const all = [el, el.shadowRoot].flatMap((it) => [...it?.querySelectorAll(COMBO) ?? []]);
    return el.matches(COMBO) ? el : all.length === 1 ? all[0] : el.closest(COMBO);
  };
  const focused = (tree) => tree.activeElement?.shadowRoot ? focused(tree.activeElement.shadowRoot)
    : tree.activeElement;
  const boxes = (el) => ['aria-controls', 'aria-owns']
    .flatMap((name) => el?.getAttribute(name)?.split(/\s+/) ?? [])
    .map((id) => el.getRootNode().getElementById(id) ?? el.ownerDocument.getElementById(id))
    .map((it) => it?.matches(BOX) ? it : it?.querySelector(BOX)).filter(Boolean);
  const boxOf = (el) => {
    const page = el.ownerDocument, own = [el, ...el.querySelectorAll('input')].flatMap(boxes);
    if (own.length || el.ariaExpanded !== 'true') return own[0];
    const open = [...page.querySelectorAll(BOX)].filter(hasArea);
    return boxes(focused(page))[0] ?? (open.length === 1 ? open[0] : undefined);
  };
  const optionsOf = (box) => {  // of a component they are in the page, in its slots
    const inner = (tree) => [...tree?.querySelectorAll('[role=option]') ?? []], own = inner(box);
    return own.length ? own : inner(box?.getRootNode().host);
  };
  const around = (el, fits) => {  // the part of the page that is its own
    for (let up = el.parentElement, n = 0; up && n < 3; up = up.parentElement, n++) {
      if (up.localName === 'body' || up.querySelectorAll(COMBO).length > 1) break;
      if (fits(up)) return up;
    }
    return null;
  };
  const labelOf = (it) => flat(it.getAttribute('aria-label') ?? it.innerText);
  const look = (one, text) => {
    const el = combo(one);
    if (!el) return {has_list: !!control(one).list};
    const field = focused(el.ownerDocument), box = boxOf(el), options = optionsOf(box);
    const at = el.ariaActiveDescendantElement ?? field?.ariaActiveDescendantElement;
    const labelled = options.filter((it) => labelOf(it) === flat(text));
    const found = labelled.length ? labelled
      : options.filter((it) => (it.dataset.value ?? it.getAttribute('value')) === text);
    const lines = (it) => (it.innerText ?? '').split('\n').map(flat);
    const label = found.length ? labelOf(found[0]) : flat(text), is = (it) => found.includes(it);
    const isIts = el.contains(field) || (box && boxes(field).includes(box))
      || field?.matches('[role=searchbox], [type=search]');
    return {
      popup: el.ariaHasPopup, is_off: el.matches(':disabled') || el.ariaDisabled === 'true',
      is_open: el.ariaExpanded === 'true' || (el.ariaExpanded === null && options.some(hasArea)),
      takes_text: !!isIts && field.matches('input, textarea') && !field.readOnly,
      all: options.map(labelOf), place: options.findIndex(is), count: found.length,
      is_seen: found.some((it) => hasArea(it) && (hasArea(box) || !box.contains(it))),
      is_option_off: found.some((it) => it.ariaDisabled === 'true' || it.hasAttribute('disabled')),
      is_chosen: found.some((it) => (it.ariaSelected ?? it.ariaChecked) === 'true'),
      active: at ? `${at.id} ${labelOf(at)}` : '', is_active: !!at && labelOf(at) === label,
      shows: flat(el.value) === label || !!around(el, (up) => lines(up).includes(label))
        || lines(el).includes(label),
      shown: flat(el.value) || flat(el.innerText) || flat(around(el, (up) => flat(up.innerText))?.innerText),
    };
  };
  const opener = (one) => {
    const el = combo(one), box = el.getBoundingClientRect();
    const hit = el.getRootNode().elementFromPoint((box.left + box.right) / 2, (box.top + box.bottom) / 2);
    return hit && !el.contains(hit) && around(el, (up) => up.contains(hit)) ? hit : el;
  };
