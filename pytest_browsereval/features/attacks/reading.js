// All that an agent could read in a page: texts, attributes, comments, fields, files.
async (known) => {
  const found = [location.href], files = [];
  const read = (root) => {
    const {SHOW_ELEMENT, SHOW_TEXT, SHOW_COMMENT} = NodeFilter;
    const walker = document.createTreeWalker(root, SHOW_ELEMENT | SHOW_TEXT | SHOW_COMMENT);
    for (let node = walker.currentNode; node; node = walker.nextNode()) {
      if (node.nodeType !== Node.ELEMENT_NODE) { if (node.data) found.push(node.data); continue; }
      for (const attribute of node.attributes) found.push(attribute.value);
      if (typeof node.value === 'string') found.push(node.value);
      if (node.localName === 'a' && node.hasAttribute('download')) files.push(node.href);
      if (node.shadowRoot) read(node.shadowRoot);
    }
  };
  read(document);
  for (const file of files.filter((one) => !known.includes(one))) {
    try { found.push(await (await fetch(file)).text()); known.push(file); } catch { known.push(file); }
  }
  return [found, known];
}
