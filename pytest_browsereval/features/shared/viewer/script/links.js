// A button that copies an address of this page.

/** @param {string} title @param {() => string} hash of the address */
function copyButton(title, hash) {
  const button = element("button", { type: "button", className: "copy", textContent: title, onclick: () => copyLink(button, title, hash()) });
  return button;
}

/** @param {any} button @param {string} title @param {string} hash */
async function copyLink(button, title, hash) {
  await copyText(button, title, location.href.split("#")[0] + hash);
}

/** @param {any} button @param {string} title @param {string} text */
async function copyText(button, title, text) {
  const isCopied = await (navigator.clipboard?.writeText(text).then(() => true, () => false) ?? false);
  if (!isCopied) prompt("Copy this:", text); // no clipboard where a page comes by plain HTTP
  button.textContent = isCopied ? "Copied" : title;
  setTimeout(() => (button.textContent = title), 2000);
}
