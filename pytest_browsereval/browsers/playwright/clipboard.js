(() => {
  const {apply} = Reflect, {getOwnPropertyDescriptor: find} = Object;  // before pages can replace them
  const ask = window.confirm, later = window.setTimeout, say = console.debug;
  const {preventDefault, stopImmediatePropagation} = Event.prototype;
  const of = (kind, name) => {
    const {get} = find(kind.prototype, name);
    return (event) => apply(get, event, []);
  };
  const key = of(KeyboardEvent, 'key'), button = of(MouseEvent, 'button');
  const control = of(KeyboardEvent, 'ctrlKey'), meta = of(KeyboardEvent, 'metaKey');
  const shift = of(KeyboardEvent, 'shiftKey');
  const stop = (event) => {
    apply(preventDefault, event, []);
    apply(stopImmediatePropagation, event, []);
  };
  let held = 0;
  const release = () => { if (!--held) apply(say, console, ['DONE']); };
  const hold = (event) => {
    if (!event.isTrusted) return;
    if (!apply(ask, window, ['QUESTION'])) return stop(event);
    held++;
    apply(later, window, [release]);  // after what the browser does by itself
  };
  const keys = {__proto__: null, c: 1, x: 1, v: 1, C: 1, X: 1, V: 1};
  let isMiddle = false;
  addEventListener('keydown', (event) => {
    const name = key(event), isCommand = control(event) || meta(event);
    if ((isCommand && (keys[name] || name === 'Insert'))
      || (shift(event) && (name === 'Insert' || name === 'Delete'))) hold(event);
  }, true);
  addEventListener('mouseup', (event) => {
    if (button(event) !== 1) return;
    isMiddle = true;  // on Linux it pastes what was last selected, in any window
    apply(later, window, [() => { isMiddle = false; }]);
  }, true);
  addEventListener('paste', (event) => { if (isMiddle) stop(event); }, true);
  for (const kind of ['copy', 'cut', 'paste']) addEventListener(kind, hold, true);
  // A person's Chrome lets pages write after a click, and ours asks for a permission: what it refuses is copied
  // as by a command. When an answer comes late, another attempt may have had its turn: it is thrown away.
  const refuse = () => { throw new DOMException('Write permission denied.', 'NotAllowedError'); };
  const {now} = performance, {prototype: events} = EventTarget;
  const isUsed = find(UserActivation.prototype, 'isActive').get;
  const copy = (data) => {
    const {activeElement} = document;
    const fill = (event) => {
      stop(event);
      for (const type in data) event.clipboardData.setData(type, data[type]);
    };
    apply(events.addEventListener, window, ['copy', fill, true]);
    const isDone = document.execCommand('copy');
    apply(events.removeEventListener, window, ['copy', fill, true]);
    if (!isDone) refuse();
  };
  const textsOf = {
    writeText: ([text]) => ({'text/plain': `${text}`}),
    write: async ([items]) => {
      const data = {};
      for (const item of items) for (const type of item.types) {
        if (!type.startsWith('text/')) refuse();
        data[type] = await (await item.getType(type)).text();
      }
      return data;
    },
  };
  const use = async (native, clipboard, args, texts) => {
    const began = apply(now, performance, []);
    if (!apply(ask, window, ['QUESTION'])) refuse();
    held++;
    try {
      const got = await apply(native, clipboard, args);
      return apply(now, performance, []) - began < HOLD_MS ? got : refuse();
    } catch (error) {
      const isClicked = apply(isUsed, navigator.userActivation, []);
      const isAllowed = document.featurePolicy?.allowsFeature('clipboard-write') !== false;
      if (!texts || error.name !== 'NotAllowedError' || !isClicked || !isAllowed) throw error;
      copy(await texts(args));
    } finally {
      release();
    }
  };
  if (navigator.clipboard) for (const name of ['read', 'readText', 'write', 'writeText']) {
    const {value: native} = find(Clipboard.prototype, name);
    Clipboard.prototype[name] = new Proxy(native, {
      __proto__: null, apply: (_, clipboard, args) => use(native, clipboard, args, textsOf[name]),
    });
  }
  addEventListener('click', (event) => {
    if (!event.defaultPrevented && event.composedPath().some((one) => one.matches?.('a[download][href]')))
      apply(ask, window, ['QUESTION download']);
  });
})()
