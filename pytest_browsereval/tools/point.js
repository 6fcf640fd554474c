(root, [x, y]) => {
  let one = null, inFrame = false;
  for (let deep = 0; deep < 20; deep++) {
    const next = root.elementFromPoint(x, y);
    if (!next || next === one) break;
    one = next;
    if (one.shadowRoot) root = one.shadowRoot;
    else if (one.localName === "iframe") {
      if (!one.contentDocument) return null;
      const box = one.getBoundingClientRect();
      [x, y] = [x - box.left - one.clientLeft, y - box.top - one.clientTop];
      [root, inFrame] = [one.contentDocument, true];
    } else break;
  }
  return one && {...browserevalHit(one), in_frame: inFrame};
}
