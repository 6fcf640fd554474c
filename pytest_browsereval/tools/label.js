(root, label) => {
  const fields = "button,input,meter,output,progress,select,textarea", all = [];
  const flat = (text) => (text ?? "").replace(/[\u200b\u00ad]/g, "").replace(/\s+/g, " ").trim();
  const walk = (tree) => {
    for (const one of tree.querySelectorAll("*")) { all.push(one); if (one.shadowRoot) walk(one.shadowRoot); }
  };
  walk(root);
  const bare = (one) => {
    const copy = one.cloneNode(true);
    for (const field of copy.querySelectorAll(fields)) field.remove();
    return copy.textContent;
  };
  const labels = (one, read) => {
    const by = one.ariaLabelledByElements;
    if (by?.length) return [...by].map(read);
    const own = flat(one.getAttribute("aria-label"));
    // The `labels` of a form are its field of that name.
    const has = one.type !== "hidden" && one.labels instanceof NodeList;
    return own ? [own] : has ? [...one.labels].map(read) : [];
  };
  const is = (text) => flat(text) === label;
  const found = all.filter((one) => labels(one, (it) => it.textContent).some(is));
  if (found.length) return found;
  const asked = `${fields},[role],[contenteditable]`;
  const named = all.filter((one) => one.matches(asked) && one.type !== "hidden");
  const more = (one) => labels(one, bare).length ? labels(one, bare)
    : [one.getAttribute("title") || one.getAttribute("placeholder")];
  return named.filter((one) => more(one).some(is));
}
