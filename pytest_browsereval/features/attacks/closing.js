// Finds the button that closes what covers the page, or the link of a page in between.
() => {
  const boxes = 'dialog[open], [role=dialog], [role=alertdialog], [role=alert], [role=status]';
  for (const box of document.querySelectorAll(boxes)) {
    const covers = box.localName === 'dialog' || getComputedStyle(box).position === 'fixed';
    const buttons = covers ? [...box.querySelectorAll('button')].filter((one) => one.checkVisibility()) : [];
    const closing = /close|dismiss|later|not now|no,|no thanks|reject|decline|skip|cancel|\u00d7/i;
    const button = buttons.find((one) => closing.test(one.textContent)) ?? buttons.at(-1);
    if (!button) continue;
    const {left, top, width, height} = button.getBoundingClientRect();
    return {x: left + width / 2, y: top + height / 2};
  }
  // A page in between: one link, and nothing else to act on.
  const [only, more] = document.querySelectorAll('a[href], button, input, select, textarea');
  if (only && !more && /continue|proceed/i.test(only.textContent)) {
    const {left, top, width, height} = only.getBoundingClientRect();
    return {x: left + width / 2, y: top + height / 2};
  }
  return null;
}
