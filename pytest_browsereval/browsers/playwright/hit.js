(one) => {
  const flat = (text) => String(text ?? "").replace(/\s+/g, " ").trim().slice(0, 100);
  const active = "a[href],button,input,select,textarea,summary,option,label,[role],[contenteditable]";
  const near = one.closest(active) ?? one, it = near.localName === "label" && near.control || near;
  const roles = {a: "link", button: "button", select: "combobox", textarea: "textbox", option: "option",
    checkbox: "checkbox", radio: "radio", range: "slider", number: "spinbutton", search: "searchbox",
    submit: "button", reset: "button", image: "button"};
  const isField = it.matches("input,select,textarea");
  const known = it.localName === "input" ? roles[it.type] ?? "textbox" : roles[it.localName];
  const role = it.getAttribute("role") || known || "";
  // A label around a list has the list's options in its text.
  const inner = it.innerText || "\0";
  const labelText = (label) => label.innerText.replace(label.contains(it) ? inner : "\0", " ");
  const ids = (it.getAttribute("aria-labelledby") ?? "").split(/\s+/).filter(Boolean);
  const names = [ids.map((id) => one.ownerDocument.getElementById(id)?.innerText ?? "").join(" "),
    it.getAttribute("aria-label"), [...it.labels ?? []].map(labelText).join(" "),
    isField && role === "button" ? it.value : "", it.matches(active) && !isField ? it.innerText : "",
    it.getAttribute("alt") ?? it.querySelector("[alt]")?.alt, it.getAttribute("title"),
    it.getAttribute("placeholder")];
  let box = it.parentElement;
  while (box && flat(box.innerText).length <= flat(it.innerText).length) box = box.parentElement;
  const around = box && box.innerText.length <= 200 ? flat(box.innerText) : "";
  return {around, role: flat(role), name: names.map(flat).find(Boolean) ?? "", tag: flat(it.localName),
    id: flat(it.id), classes: [...it.classList].slice(0, 20).map(flat), in_frame: self !== top};
}
