({css, payload}, delivered) => {
  const all = [...document.querySelectorAll(css)];
  const element = all.find((one) => one.checkVisibility && one.checkVisibility());
  if (!element || element.textContent.includes(payload)) return;
  element.append(document.createTextNode(` ${payload} `));
  delivered(`text of ${element.localName}`);
}
