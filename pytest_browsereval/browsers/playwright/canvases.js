(root) => {
  const up = (one) => one.assignedSlot ?? one.parentElement ?? one.getRootNode().host
    ?? one.ownerDocument.defaultView?.frameElement;
  const found = [];
  let isWhole = true;
  const walk = (all) => {
    for (const one of all) {
      if (one.localName === 'canvas') found.push(one);
      const isFrame = /^i?frame$/.test(one.localName), inner = isFrame ? one.contentDocument : one.shadowRoot;
      if (inner) walk(inner.querySelectorAll('*'));
      else if (isFrame) isWhole = false;
    }
  };
  walk([root, ...root.querySelectorAll('*')]);
  const seen = found.filter((one) => one._ariaRef && one.checkVisibility({visibilityProperty: true}));
  return [isWhole, seen.map((one) => {
    const {width, height} = one.getBoundingClientRect(), refs = [];
    for (let it = one; it; it = up(it)) if (it._ariaRef) refs.push(it._ariaRef.ref);
    return [`${Math.round(width)}x${Math.round(height)}`, refs];
  })];
}
