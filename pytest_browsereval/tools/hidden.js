(found, ref) => {
  const up = (one) => one.assignedSlot ?? one.parentElement ?? one.getRootNode().host;
  const way = [];
  for (let one = found; one; one = up(one)) way.push(one);
  const hides = way.find((one) => one.getAttribute("aria-hidden") === "true");
  const why = way.some((one) => one.inert) ? "inert"
    : !found.checkVisibility({visibilityProperty: true}) ? "hidden"
    : hides ? "aria-hidden" : getComputedStyle(found).pointerEvents === "none" ? "pointer-events: none" : "";
  return {why, ref: found._ariaRef?.ref ?? ref};
}
