  const LISTBOX = '[role=listbox]', OPTION = '[role=option]:not([hidden])';
  const OFF = '[disabled], optgroup[disabled] > *, [aria-disabled=true]';
  const boxOf = (el) => el.matches(LISTBOX) ? el : el.shadowRoot?.querySelector(LISTBOX);
  const optionsOf = (box) => {  // of a component they stand in the page, in its slots
    const own = [...box.querySelectorAll(OPTION)];
    return own.length ? own : [...box.getRootNode().host?.querySelectorAll(OPTION) ?? []];
  };
  const list = (one, asked) => {
    const el = control(one), isNative = el.localName === 'select', box = isNative ? el : boxOf(el);
    if (!box) return null;
    const flat = (text) => (text ?? '').trim().replace(/\s+/g, ' ');
    const options = isNative ? [...el.options] : optionsOf(box);
    const labelOf = (it) => isNative ? it.label : it.getAttribute('aria-label') ?? it.innerText;
    const valueOf = (it) => isNative ? it.value : it.dataset.value ?? it.getAttribute('value');
    const isChosen = (it) => isNative ? it.selected
      : (it.getAttribute('aria-selected') ?? it.getAttribute('aria-checked')) === 'true';
    const of = (picked) => picked.map((option) => options.indexOf(option));
    const find = (wanted) => {
      const labelled = options.filter((option) => flat(labelOf(option)) === flat(wanted));
      const valued = options.filter((option) => valueOf(option) === wanted);
      const found = labelled.length ? labelled : valued;
      const both = found.filter((option) => valueOf(option) === wanted), meant = both.length ? both : found;
      const usable = meant.filter((option) => !option.matches(OFF));
      return {found: of(meant), usable: of(usable), values: found.map(valueOf)};
    };
    const chosen = options.filter(isChosen), named = (some) => some.map((option) => flat(labelOf(option)));
    return {
      is_native: isNative, is_multiple: isNative ? el.multiple : box.ariaMultiSelectable === 'true',
      has_combobox: !isNative && !!(el.shadowRoot ?? el).querySelector('[role=combobox]'),
      is_closed: !isNative && options.every((it) => !it.checkVisibility({visibilityProperty: true})),
      each: asked.map(find), chosen: of(chosen), labels: named(chosen), all: named(options.slice(0, MOST)),
    };
  };
