  const sees = (el) => {  // editors hide the field that takes their keys, and empty it at each
    const box = el.getBoundingClientRect();
    const hit = el.getRootNode().elementsFromPoint((box.left + box.right) / 2, (box.top + box.bottom) / 2);
    return Number(getComputedStyle(el).opacity) > 0 && hit.includes(el);
  };
  const state = (one, asked) => {
    const el = control(one), name = el.localName;
    const kind = ['input', 'button'].includes(name) ? el.type : ['textarea', 'select'].includes(name) ? name
      : el.isContentEditable ? 'rich' : '';
    const texts = {
      rich: () => el.innerText,
      select: () => [...el.selectedOptions].map((option) => option.label).join(', '),
    };
    return {
      kind, value: texts[kind]?.() ?? String(el.value ?? ''),
      is_secret: kind === 'password' || /password/.test(el.autocomplete)
        || !['', 'none'].includes(getComputedStyle(el).webkitTextSecurity),
      is_focused: el.getRootNode().activeElement === el, is_seen: sees(el),
      is_read_only: el.readOnly === true, is_disabled: el.matches(':disabled'),
      is_color: kind === 'color' && CSS.supports('color', asked ?? ''),
      most: el.maxLength ?? -1, low: el.min ?? '', high: el.max ?? '',
    };
  };
  const ready = (one) => {
    const hit = browserevalHitAt(one), el = control(one), isNew = el.getRootNode().activeElement !== el;
    if (!el.matches(':disabled')) el.focus();
    // A component hands the focus on by a method of its own, which is not in this world.
    if (el.getRootNode().activeElement !== el) el.shadowRoot?.querySelector('input, textarea')?.focus();
    // A field that has the focus already keeps its caret.
    if (isNew && (el.isContentEditable || /^(input|textarea)$/.test(el.localName)))
      getSelection()?.modify('move', 'forward', 'documentboundary');
    return {...state(el), hit};
  };
