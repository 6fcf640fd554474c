// Where an element is acted on, as a list of a point of the viewport: in its middle, or `at` a place in it. Empty
// where that is not known, or nothing is seen of it. What is out of view is brought there, as a click does.
(one, at) => {
  const middle = ({left, top, width, height}) => [left + (at ? at[0] : width / 2), top + (at ? at[1] : height / 2)];
  const place = () => {
    const box = one.getBoundingClientRect(), found = middle(box);
    let view = one.ownerDocument.defaultView;
    for (; view !== view.top; view = view.parent) {
      const frame = view.frameElement, outer = frame?.getBoundingClientRect();
      if (!frame) return [];
      found[0] += outer.left + frame.clientLeft;
      found[1] += outer.top + frame.clientTop;
    }
    const [x, y] = found, isSeen = x >= 0 && y >= 0 && x < view.innerWidth && y < view.innerHeight;
    return isSeen && box.width && box.height ? [[x, y]] : [];
  };
  const found = place();
  if (found.length || !one.checkVisibility()) return {points: found};
  one.scrollIntoViewIfNeeded();
  return {points: place(), has_scrolled: true};
}
