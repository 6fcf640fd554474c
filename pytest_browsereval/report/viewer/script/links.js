// A button that copies an address of this page.

/** @param {string} title @param {() => string} hash of the address */
function copyButton(title, hash) {
  const button = element("button", { type: "button", className: "copy", textContent: title, onclick: () => copyLink(button, title, hash()) });
  return button;
}

/** @param {any} button @param {string} title @param {string} hash */
async function copyLink(button, title, hash) {
  const address = location.href.split("#")[0] + hash;
  const isCopied = await (navigator.clipboard?.writeText(address).then(() => true, () => false) ?? false);
  if (!isCopied) prompt("Copy this link:", address); // no clipboard where a page comes by plain HTTP
  button.textContent = isCopied ? "Copied" : title;
  setTimeout(() => (button.textContent = title), 2000);
}
