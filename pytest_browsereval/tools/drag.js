(one, other) => {
  const both = [one, other].filter(Boolean), views = new Set(both.map((el) => el.ownerDocument.defaultView));
  const place = () => both.map((el) => {
    const {left, top} = el.getBoundingClientRect();
    return [el.isConnected, Math.round(left), Math.round(top), el.childElementCount, el.value,
      [...el.parentNode?.children ?? []].indexOf(el)];
  }).join();
  const before = place(), parent = one.parentNode, on = ['dragstart', 'drop', 'input', 'change', 'scroll'];
  const seen = new Set(document.querySelector('canvas') ? ['canvas'] : []);
  const note = (event) => seen.add(event.type);
  const watch = new MutationObserver(() => seen.add('change'));
  for (const el of both) for (let root = el.getRootNode(); root; root = root.host?.getRootNode())
    watch.observe(root, {subtree: true, childList: true, attributes: true, characterData: true});
  for (const view of views) for (const type of on) view.addEventListener(type, note, true);
  return {end: () => {
    const hasMoved = place() !== before || one.parentNode !== parent;
    watch.disconnect();
    for (const view of views) for (const type of on) view.removeEventListener(type, note, true);
    if (hasMoved || seen.has('canvas')) return ['', ''];
    if (seen.has('dragstart') && !seen.has('drop')) return ['nothing on the page takes it there', ''];
    if (!other) return ['', ''];
    return seen.size ? ['', 'both are where they were'] : ['nothing on the page has moved', ''];
  }};
}
