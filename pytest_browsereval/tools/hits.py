"""The element that a call acts on, as the page describes it: a reader compares calls by it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_browsereval.browsers.playwright.waiting import playwright_error
from pytest_browsereval.browsers.playwright.windows import PlaywrightWindow
from pytest_browsereval.browsers.playwright.world import ApartError, ask_apart
from pytest_browsereval.model.messages import Hit

if TYPE_CHECKING:
    from playwright.async_api import Locator, Page

_DESCRIBE = """(one) => {
  const flat = (text) => String(text ?? "").replace(/\\s+/g, " ").trim().slice(0, 100);
  const active = "a[href],button,input,select,textarea,summary,option,label,[role],[contenteditable]";
  const near = one.closest(active) ?? one, it = near.localName === "label" && near.control || near;
  const roles = {a: "link", button: "button", select: "combobox", textarea: "textbox", option: "option",
    checkbox: "checkbox", radio: "radio", range: "slider", number: "spinbutton", search: "searchbox",
    submit: "button", reset: "button", image: "button"};
  const isField = it.matches("input,select,textarea");
  const known = it.localName === "input" ? roles[it.type] ?? "textbox" : roles[it.localName];
  const role = it.getAttribute("role") || known || "";
  // A label around a list has the list's options in its text.
  const inner = it.innerText || "\\0";
  const labelText = (label) => label.innerText.replace(label.contains(it) ? inner : "\\0", " ");
  const ids = (it.getAttribute("aria-labelledby") ?? "").split(/\\s+/).filter(Boolean);
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
}"""
_AT_POINT = f"""(root, [x, y]) => {{
  let one = null, inFrame = false;
  for (let deep = 0; deep < 20; deep++) {{
    const next = root.elementFromPoint(x, y);
    if (!next || next === one) break;
    one = next;
    if (one.shadowRoot) root = one.shadowRoot;
    else if (one.localName === "iframe") {{
      if (!one.contentDocument) return null;
      const box = one.getBoundingClientRect();
      [x, y] = [x - box.left - one.clientLeft, y - box.top - one.clientTop];
      [root, inFrame] = [one.contentDocument, true];
    }} else break;
  }}
  return one && {{...({_DESCRIBE})(one), in_frame: inFrame}};
}}"""


async def note_point(window: PlaywrightWindow, x: float, y: float, limit_s: float) -> None:
    """Note what is at a point of the viewport; nothing if the page does not say."""
    await _note(window, window.page, _AT_POINT, [x, y], limit_s)


async def note_element(window: PlaywrightWindow, locator: Locator) -> None:
    """Note what a locator finds; nothing if the page does not say."""
    await _note(window, locator, _DESCRIBE, None, window.rules.action_s)


async def _note(
    window: PlaywrightWindow, scope: Page | Locator, script: str, given: list[float] | None, limit_s: float
) -> None:
    window.hit = None
    try:
        found = await ask_apart(scope, script, [*given] if given else None, limit_s=limit_s)
    except (ApartError, playwright_error()):
        return
    window.hit = Hit.model_validate(found) if found else None
