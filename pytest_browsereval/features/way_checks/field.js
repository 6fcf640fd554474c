(field) => {
  const text = (one) => (one?.innerText ?? '').replace(/\s+/g, ' ').trim();
  const aria = (name) => field.getAttribute(`aria-${name}`);
  const read = () => {
    const tag = field.localName, type = field.type, role = field.getAttribute('role');
    if (tag === 'input' && type === 'password') return {secret: true};
    if (tag === 'input' && ['checkbox', 'radio'].includes(type)) return {value: field.checked};
    if (tag === 'input' && type === 'file') return {value: [...field.files].map((one) => one.name)};
    if (tag === 'select') {
      const chosen = [...field.selectedOptions];
      const labels = chosen.map((one) => one.label.trim()), values = chosen.map((one) => one.value);
      return field.multiple ? {value: labels, other: values} : {value: labels[0] ?? null, other: values[0]};
    }
    if (tag === 'input' || tag === 'textarea') return {value: field.value};
    if (aria('checked') !== null) return {value: aria('checked') === 'true'};
    if (aria('valuetext') ?? aria('valuenow')) return {value: aria('valuetext') ?? aria('valuenow')};
    if (role === 'radiogroup' || tag === 'fieldset') {
      const one = field.querySelector('input[type=radio]:checked, [role=radio][aria-checked=true]');
      return {value: one ? text(one.labels?.[0]) || one.ariaLabel || text(one) || one.value : null};
    }
    if (field.isContentEditable || ['textbox', 'searchbox', 'combobox'].includes(role)) {
      return {value: field.innerText.trim()};
    }
    return null;
  };
  const found = read();
  return found && {...found, isVisible: field.checkVisibility()};
}
