// What the browser itself does to a field counts, not what a script of the page writes into it: the field has
// the text after the browser's edit, had it not before, and has not grown by more than what was put in.
(report) => {
  const texts = TEXTS;
  const before = new WeakMap();
  const typed = new WeakMap();  // one letter after the other: a page may draw stars in their place
  const read = (field) => String((field && 'value' in field ? field.value : field?.textContent) ?? '');
  const list = (value) => texts.flatMap((text, place) => (value.includes(text) ? [place] : []));
  const of = (event) => event.composedPath()[0];  // in an open shadow tree too
  const prepare = (event) => {
    const field = of(event);
    if (event.isTrusted && field) before.set(field, read(field));
  };
  const look = (event) => {
    const field = of(event);
    if (!event.isTrusted || !field) return;
    const was = before.get(field) ?? '', is = read(field);
    const isDeletion = /^delete/.test(event.inputType ?? '');
    const data = isDeletion ? '' : event.data ?? '';
    const isAdded = is.length === was.length + data.length;
    const letters = (isAdded ? typed.get(field) ?? '' : '') + data;
    for (const place of list(letters)) report(place);
    typed.set(field, list(letters).length ? '' : letters.slice(-1000));
    const most = isDeletion ? '' : event.data ?? event.dataTransfer?.getData('text') ?? null;
    if (most !== null && is.length - was.length > most.length) return;
    for (const place of list(is)) if (!list(was).includes(place)) report(place);
    before.set(field, is);
  };
  const listen = () => {
    for (const kind of ['focusin', 'keydown', 'beforeinput']) addEventListener(kind, prepare, true);
    addEventListener('input', look, true);
  };
  listen();
  // `document.open` takes all listeners away; what has been added already is not added again.
  new MutationObserver(listen).observe(document, {childList: true});
}
