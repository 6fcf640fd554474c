  const SWITCHES = 'input[type=checkbox], input[type=radio], [role=checkbox], [role=radio], [role=switch]';
  const inner = (one) => {  // of a component, whose switch is in its shadow tree
    const all = one.shadowRoot?.querySelectorAll(SWITCHES) ?? [];
    return all.length === 1 ? all[0] : control(one);
  };
  const isOn = (el) => el.localName === 'input' && /^(checkbox|radio)$/.test(el.type) ? el.checked
    : el.hasAttribute('aria-checked') ? el.getAttribute('aria-checked') === 'true' : null;
  const hit = (el) => {
    const box = el.getBoundingClientRect();
    const at = [(box.left + box.right) / 2, (box.top + box.bottom) / 2];
    return box.width && box.height ? el.getRootNode().elementFromPoint(...at) : null;
  };
