(root, moment) => {
  const places = (one) => [one.scrollLeft, one.scrollTop].map(Math.round);
  if (moment === "after") {
    const kinds = {ul: "list", ol: "list", listbox: "list", dl: "list", table: "table", textarea: "field",
      select: "list", grid: "grid", dialog: "dialog", menu: "menu", nav: "navigation", tree: "tree"};
    const named = (one) => one === root.scrollingElement ? "page"
      : one === one.ownerDocument.scrollingElement ? "frame"
      : kinds[one.getAttribute("role") || one.localName] ?? kinds[one.firstElementChild?.localName] ?? "pane";
    const ends = (one) => [one.scrollWidth - one.clientWidth, one.scrollHeight - one.clientHeight];
    return (globalThis.browserevalScrolled ?? []).map(({one, before, isHidden}) => ({
      name: isHidden ? "" : named(one), before, now: places(one),
      end: ends(one).map((n) => Math.max(0, n))}));
  }
  const found = [root.scrollingElement ?? root.documentElement];
  const isLarger = (one) => one.scrollHeight > one.clientHeight || one.scrollWidth > one.clientWidth;
  let hidden = null;
  for (let tree = root; tree;) {
    const hovered = [...tree.querySelectorAll(":hover")], last = hovered.at(-1);
    found.push(...hovered.filter(isLarger));
    tree = last?.shadowRoot ?? (last?.localName === "iframe" ? last.contentDocument : null);
    if (last?.localName === "iframe" && !tree) hidden = last;
    if (tree?.nodeType === 9) found.push(tree.scrollingElement ?? tree.documentElement);
  }
  const all = [...new Set(found)].filter(Boolean);
  globalThis.browserevalScrolled = all.map((one) => ({one, before: places(one)}));
  if (hidden) globalThis.browserevalScrolled.push({one: hidden, before: [0, 0], isHidden: true});
  return null;
}
