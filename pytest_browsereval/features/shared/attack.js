// Runs a function of an attack in a document, and again after each change of it; tells what it reports.
(report, call, argument) => {
  if (location.href === 'about:blank') return;
  const known = new Set();
  const tell = (text) => {
    if (known.has(text)) return;
    known.add(text);
    report(typeof text === 'object' ? text : String(text));
  };
  let failed = false;
  const fail = (error) => {
    if (!failed) report({error: String(error)});
    failed = true;
  };
  const run = () => {
    if (document.readyState === 'loading') return;
    try {
      const left = call(argument, tell);
      if (left && typeof left.then === 'function') left.then(undefined, fail);
    } catch (error) { fail(error); }
    observer.takeRecords();  // its own changes call for nothing
  };
  // `document.open` takes all listeners away, which leaves the observer.
  const listen = () => document.addEventListener('DOMContentLoaded', run);
  const observer = new MutationObserver(() => { listen(); run(); });
  observer.observe(document, {childList: true, subtree: true, characterData: true, attributes: true});
  listen();
  run();
}
