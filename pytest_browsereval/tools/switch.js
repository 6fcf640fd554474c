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
  const look = (one) => {
    const acted = browserevalHitAt(one), el = inner(one);
    if (isOn(el) !== null && !el.contains(hit(el))) el.scrollIntoView({block: 'center', behavior: 'instant'});
    const isCovered = el !== one || !el.contains(hit(el));
    return {is_on: isOn(el), is_radio: el.type === 'radio', is_covered: isCovered, hit: acted};
  };
  const pick = (one) => {
    const el = inner(one), root = el.getRootNode();
    const label = el.closest('label') ?? el.labels?.[0], component = root.host ? root : null;
    const isOwn = (part) => (label?.contains(part) || component?.contains(part))
      && [el, null].includes(part.closest(`a, button, select, textarea, input, ${SWITCHES}`));
    const parts = [el, hit(el), ...label?.querySelectorAll('*') ?? [], label];
    return parts.find((part) => part && isOwn(part) && hit(part) && isOwn(hit(part))
      && (part.contains(hit(part)))) ?? one;
  };
