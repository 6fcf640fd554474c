// What attacks do in a page: `(type) => (argument, delivered) => ...`, called when a document is there and after
// each change of it. The payload is data: it gets into texts and attributes, never into markup or code. Styles are
// set by the object model, because a content security policy may forbid attributes of that name.
(type) => {
  // How long looking and placing may take: a page that changes all the time must not wait for them.
  const [FREE_MS, SHARE] = [30, 0.03];
  const UNREAD = new Set(['SCRIPT', 'STYLE', 'NOSCRIPT', 'TEMPLATE', 'HEAD']);
  const OVER = {over: true};  // told once what an agent has closed, or has met once, is not to be shown again
  const isTop = window === window.top;

  // -- finding an element

  const fold = (text) => text.replace(/\s+/g, ' ').trim().toLowerCase();

  function readText(node, between = '') {
    if (node.nodeType === Node.TEXT_NODE) return node.data;
    if (UNREAD.has(node.tagName)) return '';
    return Array.from(node.childNodes, (child) => readText(child, between)).join(between);
  }

  // Parts of a text may be words of one line or blocks of their own: both ways of joining them count.
  const hasText = (element, text) => ['', ' '].some((between) => fold(readText(element, between)).includes(text));

  function* listRoots(root) {
    yield root;
    for (const element of root.querySelectorAll('*')) if (element.shadowRoot) yield* listRoots(element.shadowRoot);
  }

  // The innermost elements with the text.
  function* findByText(element, text) {
    if (UNREAD.has(element.tagName) || !fold(element.textContent).includes(text)) return;
    let isInside = false;
    for (const child of element.children) {
      for (const found of findByText(child, text)) {
        isInside = true;
        yield found;
      }
    }
    if (!isInside && hasText(element, text)) yield element;
  }

  function* findIn(root, where) {
    if (where.css) {
      yield* root.querySelectorAll(where.css);
    } else {
      for (const element of root.children) yield* findByText(element, fold(where.text));
    }
  }

  const isOver = () => globalThis.browserevalOver === true;

  // Neither the empty page that a tab begins with nor the attacker's own.
  const isPage = ({attacker}) =>
    !(isTop && /^(about|chrome-error):/.test(location.href)) && !(attacker && location.href.startsWith(attacker));

  // The first visible one in the order of the document, then of open shadow trees.
  function find(where, watch) {
    if (!where) return isTop ? document.body : null;
    for (const root of listRoots(document)) {
      watch(root);
      for (const element of findIn(root, where)) {
        if (element.checkVisibility({opacityProperty: true, visibilityProperty: true})) return element;
      }
    }
    return null;
  }

  // -- changing it

  function style(element, rules) {
    for (const [property, value] of Object.entries(rules)) element.style.setProperty(property, value, 'important');
    return element;
  }

  function make(tag, {text, css = {}, attributes = {}, children = []} = {}) {
    const element = style(document.createElement(tag), css);
    if (text) element.textContent = text;
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    element.append(...children);
    return element;
  }

  // Has `put(element)` place the payload, and again when the page has taken it or the element away. `put` returns
  // whether all is in place and, if that is not the same, whether it can be met; null if the element cannot take it.
  const CHANGES = {childList: true, subtree: true, characterData: true, attributes: true};

  function keep(argument, delivered, put) {
    let element = null, placed = null, spent = -FREE_MS, timer = null, isDelivered = false;
    const start = performance.now();
    const watched = new WeakSet([document]);

    function watch(root) {
      if (watched.has(root)) return;
      watched.add(root);
      new MutationObserver(work).observe(root, CHANGES);
    }

    function look() {
      if (!element?.isConnected || !placed?.isThere()) {
        element = find(argument.where, watch);
        placed = element && put(element);
      }
      if (placed && !isDelivered && (placed.isMet ?? placed.isThere)()) {
        isDelivered = true;
        delivered(argument.label);
      }
    }

    function work() {
      if (!document.body || !isPage(argument)) return;
      if (isDelivered && element?.isConnected && placed?.isThere()) return;
      const began = performance.now(), wait = spent / SHARE - (began - start);
      if (wait > 0) {
        timer ??= setTimeout(() => { timer = null; work(); }, wait);
        return;
      }
      look();
      spent += performance.now() - began;
    }

    // Style sheets and transitions show elements without a change of the document.
    for (const event of ['load', 'transitionend', 'animationend']) addEventListener(event, work, true);
    return work;
  }

  // -- the types

  const NO_TEXT = 'input, textarea, select, img, br, hr, canvas, video, audio, iframe, svg, svg *, progress, meter';

  function putText(element, {payload, how}) {
    if (element.matches(NO_TEXT)) return null;
    if (how !== 'replace') {
      const node = document.createTextNode(how === 'append' ? ` ${payload}` : `${payload} `);
      how === 'append' ? element.append(node) : element.prepend(node);
      return {isThere: () => element.contains(node) && node.data.includes(payload)};
    }
    // Nodes that a framework has made stay where it will look for them.
    const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT), nodes = [];
    while (walker.nextNode()) nodes.push(walker.currentNode);
    const first = nodes.shift() || element.appendChild(document.createTextNode(''));
    first.data = payload;
    for (const node of nodes) node.data = '';
    return {isThere: () => element.contains(first) && first.data === payload};
  }

  function putAttribute(element, key, text) {
    element.setAttribute(key, text);
    return {isThere: () => element.getAttribute(key) === text};
  }

  function putChild(parent, node) {
    parent.append(node);
    return {isThere: () => parent.contains(node)};
  }

  function findBackground(element) {
    for (let place = element; place; place = place.parentElement) {
      const colour = getComputedStyle(place).backgroundColor;
      if (!/^rgba\(.*, 0\)$|^transparent$/.test(colour)) return colour;
    }
    return 'rgb(255, 255, 255)';
  }

  const NARROW = {position: 'absolute', width: '1px', height: '1px', overflow: 'hidden'};

  // The name of a body is in no tree of accessibility: an element of a pixel's size has it.
  const putNote = (body, key, payload) =>
    putChild(body, make('div', {css: NARROW, attributes: {role: 'note', [key]: payload}}));

  const HIDDEN = {
    aria_label: (element, payload) => {
      if (element === document.body) return putNote(element, 'aria-label', payload);
      const before = element.getAttribute('aria-label') || readText(element, ' ').replace(/\s+/g, ' ').trim();
      return putAttribute(element, 'aria-label', `${before.slice(0, 200)} ${payload}`.trim());
    },
    title: (element, payload) =>
      (element === document.body ? putNote(element, 'title', payload) : putAttribute(element, 'title', payload)),
    alt: (element, payload) => {
      const taker = 'img, area, input[type=image]';
      const picture = element.matches(taker) ? element : element.querySelector(taker);
      if (picture) return putAttribute(picture, 'alt', payload);
      return putChild(element, make('img', {css: {...NARROW, opacity: '0.01'}, attributes: {alt: payload}}));
    },
    zero_size: (element, payload) => {
      const css = {'font-size': '0', 'line-height': '0', display: 'inline-block', width: '0', height: '0'};
      return putChild(element, make('span', {text: payload, css: {...css, overflow: 'hidden'}}));
    },
    off_screen: (element, payload) => {
      const css = {position: 'absolute', left: '-10000px', top: '0', width: '500px'};
      return putChild(element, make('div', {text: payload, css}));
    },
    same_colour: (element, payload) => {
      const colour = findBackground(element);
      return putChild(element, make('div', {text: payload, css: {color: colour, 'background-color': colour}}));
    },
    comment: (element, payload) => putChild(element, document.createComment(` ${payload.replaceAll('--', '- -')} `)),
    meta: (_, payload) => {
      const meta = make('meta', {attributes: {name: 'description', content: payload}});
      return putChild(document.head || document.documentElement, meta);
    },
  };

  const BAR = {
    position: 'fixed', left: '0', right: '0', 'z-index': '2147483646', padding: '12px 20px', margin: '0',
    font: '16px/1.4 sans-serif', color: '#111', 'text-align': 'left', 'box-sizing': 'border-box',
  };
  const BANNERS = {
    consent: {role: 'dialog', css: {...BAR, bottom: '0', background: '#fff', 'border-top': '2px solid #888'}},
    system: {role: 'alert', css: {...BAR, top: '0', background: '#fde8e8', 'border-bottom': '2px solid #c00'}},
    notice: {role: 'status', css: {...BAR, top: '0', background: '#fff6d6', 'border-bottom': '1px solid #b90'}},
  };
  const BUTTON = {
    font: '16px sans-serif', padding: '6px 14px', margin: '8px 8px 0 0', cursor: 'pointer', color: '#111',
    background: '#eee', border: '1px solid #666', display: 'inline-block',
  };

  function putClosable(parent, box, buttons, tell) {
    let isClosed = false;
    const close = () => {
      isClosed = true;
      box.remove();
      tell(OVER);
    };
    for (const label of buttons) {
      const button = make('button', {text: label, css: BUTTON, attributes: {type: 'button'}});
      button.addEventListener('click', close);
      box.querySelector('[data-buttons]').append(button);
    }
    parent.append(box);
    return {isThere: () => isClosed || parent.contains(box)};
  }

  function makeBox(title, payload) {
    const [bold, plain] = ['bold 17px/1.4 sans-serif', '16px/1.4 sans-serif'];
    const heading = make('strong', {text: title, css: {display: 'block', font: bold, margin: '0 0 4px'}});
    const text = make('p', {text: payload, css: {margin: '0', font: plain, 'white-space': 'pre-wrap'}});
    return [heading, text, make('div', {attributes: {'data-buttons': ''}})];
  }

  function putBanner(body, {payload, look, title, buttons}, tell) {
    const {role, css} = BANNERS[look];
    const box = make('div', {css, attributes: {role, 'aria-label': title}, children: makeBox(title, payload)});
    return putClosable(body, box, buttons, tell);
  }

  const OVERLAY = {position: 'fixed', inset: '0', 'z-index': '2147483647', background: 'rgba(0, 0, 0, .6)'};

  function putModal(body, {payload, look, title, buttons}, tell) {
    const parts = makeBox(title, payload);
    if (look === 'captcha') {
      const tick = make('input', {attributes: {type: 'checkbox'}, css: {margin: '0 8px 0 0'}});
      const css = {display: 'block', border: '1px solid #bbb', padding: '16px', 'margin-top': '12px'};
      parts.splice(2, 0, make('label', {css, children: [tick, 'I am not a robot']}));
    }
    const box = {background: '#fff', color: '#111', border: '1px solid #555', padding: '24px'};
    const inner = make('div', {css: {...box, 'max-width': '560px', margin: '12vh auto 0'}, children: parts});
    const outer = make('div', {
      css: {...OVERLAY, 'text-align': 'left'},
      attributes: {role: 'dialog', 'aria-modal': 'true', 'aria-label': title},
      children: [inner],
    });
    return putClosable(body, outer, buttons, tell);
  }

  // A dialog holds up all that runs in the page, so it waits until the page has loaded.
  function openDialog({payload, dialog, label}, delivered) {
    const open = () => setTimeout(() => {
      delivered(label);
      delivered(OVER);
      window[dialog](payload);
    });
    document.readyState === 'complete' ? open() : addEventListener('load', open, {once: true});
  }

  function draw(payload) {
    const canvas = make('canvas'), pen = canvas.getContext('2d');
    const font = '20px sans-serif', most = 600, lines = [];
    pen.font = font;
    for (const paragraph of payload.split('\n')) {
      let line = '';
      // Languages without blanks are broken anywhere.
      for (const word of paragraph.match(/\S{1,24}\s*|\s+/g) || ['']) {
        if (line && pen.measureText(line + word).width > most) {
          lines.push(line);
          line = '';
        }
        line += word;
      }
      lines.push(line);
    }
    canvas.width = most + 40;
    canvas.height = 28 * lines.length + 24;
    pen.font = font;
    pen.fillStyle = '#fff';
    pen.fillRect(0, 0, canvas.width, canvas.height);
    pen.fillStyle = '#111';
    lines.forEach((line, number) => pen.fillText(line, 20, 34 + 28 * number));
    return canvas;
  }

  // Programs that stand in for a model read the payload after the end of the file, where no decoder looks.
  function describePicture(canvas, payload) {
    const behind = Array.from(new TextEncoder().encode(payload), (byte) => String.fromCharCode(byte)).join('');
    const [head, data] = canvas.toDataURL('image/png').split(',');
    return `${head},${btoa(atob(data) + behind)}`;
  }

  function putPicture(element, {payload}) {
    const canvas = draw(payload);
    const css = {display: 'block', 'max-width': '100%', height: 'auto'};
    let picture = make('img', {css, attributes: {alt: ''}});
    // A content security policy stops pictures that have an address, never those that a page draws itself.
    picture.addEventListener('error', () => {
      picture.replaceWith(style(canvas, css));
      picture = canvas;
    }, {once: true});
    picture.src = describePicture(canvas, payload);
    element === document.body ? element.append(picture) : element.after(picture);
    // Who reads the document meets it before it is drawn.
    return {isThere: () => picture.isConnected};
  }

  function putLink(element, {payload, file}) {
    const address = URL.createObjectURL(new Blob([payload], {type: 'text/plain'}));
    const attributes = {href: address, download: file};
    return putChild(element, make('a', {text: file, attributes, css: {display: 'block'}}));
  }

  const FIELDS = 'textarea, input:is(:not([type]), [type=text], [type=search], [type=email], [type=tel], [type=url])';

  function isUntouched(field) {
    return field.matches(FIELDS) && field.value === field.defaultValue && document.activeElement !== field
      && !field.readOnly && !field.disabled;
  }

  const FORMS = {
    value: (field, {payload}) => {
      if (!isUntouched(field)) return null;
      // By the setter of the class: frameworks put one of theirs on the element, and listen for the event.
      const owner = field.tagName === 'TEXTAREA' ? HTMLTextAreaElement : HTMLInputElement;
      Object.getOwnPropertyDescriptor(owner.prototype, 'value').set.call(field, payload);
      field.dispatchEvent(new Event('input', {bubbles: true}));
      const isFilled = field.value !== '';
      return {isThere: () => true, isMet: () => isFilled};
    },
    placeholder: (field, {payload}) => (field.matches(FIELDS) ? putAttribute(field, 'placeholder', payload) : null),
    label: (field, {payload}) => {
      const label = field.labels?.[0];
      return label ? putText(label, {payload, how: 'append'}) : null;
    },
    field: (place, {payload, action}) => {
      const input = make('input', {attributes: {type: 'text', name: 'value'}, css: {display: 'block'}});
      const send = make('button', {text: 'Send', attributes: {type: 'submit'}});
      const label = make('label', {text: payload, css: {display: 'block'}, children: [input]});
      return putChild(place, make('form', {attributes: {action, method: 'post'}, children: [label, send]}));
    },
  };

  // Whether the document is the one that rows begin with, also where a page or an attack has put something after it.
  function isStart(url) {
    const [here, start] = [location.href, url].map((text) => new URL(text));
    return isTop && here.origin === start.origin && here.pathname === start.pathname
      && [...start.searchParams].every(([key, value]) => here.searchParams.get(key) === value);
  }

  function putIntoAddress({payload, how, start, label}, delivered) {
    if (!isStart(start)) return;
    const url = new URL(location.href);
    if (how === 'query') url.searchParams.set('note', payload);
    else url.hash = `note=${encodeURIComponent(payload)}`;
    history.replaceState(history.state, '', url);
    delivered(label);
  }

  const keeping = (put) => (argument, tell) => keep(argument, tell, (element) => put(element, argument, tell));

  const doOnce = (deed) => (argument, delivered) => {
    let isDone = false;
    return () => {
      if (isDone || !isTop || !isPage(argument)) return;
      isDone = true;
      deed(argument, delivered);
    };
  };

  const untilOver = (begin) => (argument, delivered) => (isOver() ? () => {} : begin(argument, delivered));

  const TYPES = {
    text: keeping(putText),
    hidden: keeping((element, {how, payload}) => HIDDEN[how](element, payload)),
    banner: untilOver(keeping(putBanner)),
    modal: untilOver(keeping(putModal)),
    dialog: untilOver(doOnce(openDialog)),
    image: keeping(putPicture),
    address: doOnce(putIntoAddress),
    download: keeping(putLink),
    form: (argument, delivered) => {
      const {how, where} = argument;
      const chosen = where ?? (how === 'field' || !isTop ? null : {css: FIELDS});
      return keeping((element) => FORMS[how](element, argument))({...argument, where: chosen}, delivered);
    },
  };

  let work = null;
  return (argument, delivered) => (work ??= TYPES[type](argument, delivered))();
}
