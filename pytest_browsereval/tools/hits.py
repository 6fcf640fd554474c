"""The element that a call acts on, as the page describes it: a reader compares calls by it."""

from __future__ import annotations

from typing import Any

from pytest_browsereval.browsers.playwright.waiting import quietly
from pytest_browsereval.browsers.playwright.windows import PlaywrightWindow
from pytest_browsereval.model.messages import Hit

_DESCRIBE = """const describe = (one) => {
  const flat = (text) => String(text ?? "").replace(/\\s+/g, " ").trim().slice(0, 100);
  const active = "a[href],button,input,select,textarea,summary,option,label,[role],[contenteditable]";
  const near = one.closest(active) ?? one, it = near.localName === "label" && near.control || near;
  const roles = {a: "link", button: "button", select: "combobox", textarea: "textbox", option: "option",
    checkbox: "checkbox", radio: "radio", range: "slider", number: "spinbutton", search: "searchbox",
    submit: "button", reset: "button", image: "button"};
  const isField = it.matches("input,select,textarea");
  const known = it.localName === "input" ? roles[it.type] ?? "textbox" : roles[it.localName];
  const role = it.getAttribute("role") || known || "";
  const ids = (it.getAttribute("aria-labelledby") ?? "").split(/\\s+/).filter(Boolean);
  const names = [ids.map((id) => document.getElementById(id)?.innerText ?? "").join(" "),
    it.getAttribute("aria-label"), [...it.labels ?? []].map((label) => label.innerText).join(" "),
    isField && role === "button" ? it.value : "", it.matches(active) && !isField ? it.innerText : "",
    it.getAttribute("alt") ?? it.querySelector("[alt]")?.alt, it.getAttribute("title"),
    it.getAttribute("placeholder")];
  return {role, name: names.map(flat).find(Boolean) ?? "", tag: it.localName, id: it.id,
    classes: [...it.classList].slice(0, 20), in_frame: self !== top};
};"""
_ELEMENTS = f"(found) => {{ {_DESCRIBE} return found.slice(0, 2).map(describe) }}"
_AT_POINT = f"""([x, y]) => {{ {_DESCRIBE}
  let root = document, inFrame = false, one = null;
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
  return one && {{...describe(one), in_frame: inFrame}};
}}"""


async def note_point(window: PlaywrightWindow, x: float, y: float, limit_s: float) -> None:
    """Note what is at a point of the viewport; nothing if the page does not say."""
    _note(window, [await quietly(window.page.evaluate(_AT_POINT, [x, y]), limit_s)])


async def note_elements(window: PlaywrightWindow, locator: Any) -> int:
    """Note what a locator finds, if that is one element, and return how many these are: 2 stands for more."""
    found = await locator.evaluate_all(_ELEMENTS)
    _note(window, found)
    return len(found)


def _note(window: PlaywrightWindow, found: list[Any]) -> None:
    window.hit = None
    if len(found) == 1 and isinstance(found[0], dict):
        try:
            window.hit = Hit.model_validate(found[0])
        except ValueError:  # a page may have changed what its scripts return
            return
