"""What a tool call is about to touch: the words on it, and where it leads."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pytest_browsereval.browsers.playwright.waiting import quietly
from pytest_browsereval.browsers.playwright.windows import PlaywrightWindow
from pytest_browsereval.config.guard import GuardedCall
from pytest_browsereval.model.messages import ToolResultMessage
from pytest_browsereval.tools.base import ToolError
from pytest_browsereval.tools.targets import ref_of, resolve

if TYPE_CHECKING:
    from playwright.async_api import JSHandle

TYPED = frozenset({"text", "value", "values", "answer", "reason", "key"})
"""Arguments that are typed into a page, chosen there or said: their words are data."""

_READ = """(given, isEnter) => {
  const element = given && given.nodeType === 3 ? given.parentElement : given;
  if (!element || !element.closest) return {texts: [], addresses: []};
  const texts = [], addresses = [];
  const hit = element.closest('a, area, button, input, select, summary, label, option, [role]') || element;
  const add = (one) => {
    const isButton = one.tagName === 'INPUT' && /^(submit|button|reset|image)$/.test(one.type);
    for (const text of [one.innerText, isButton ? one.value : '', one.getAttribute('aria-label'),
                        one.getAttribute('title'), one.getAttribute('alt')])
      if (text && text.trim()) texts.push(text.trim().slice(0, 300));
    const by = (one.getAttribute('aria-labelledby') || '').split(/\\s+/).filter(Boolean);
    for (const id of by) {
      const label = one.getRootNode().getElementById(id);
      if (label) texts.push((label.innerText || '').trim().slice(0, 300));
    }
  };
  add(hit);
  if (element !== hit) add(element);
  for (const picture of hit.querySelectorAll('img[alt], [aria-label]')) add(picture);
  const link = element.closest('a[href], area[href]');
  if (link) addresses.push(String(link.href));
  const form = hit.form || hit.closest('form');
  const isSubmit = /^(submit|image)$/.test(hit.type || '');
  if (form && (isEnter || isSubmit)) {
    const action = (isSubmit && hit.getAttribute('formaction')) || form.getAttribute('action') || '';
    try { addresses.push(new URL(action, document.baseURI).href); } catch (error) { addresses.push(action); }
    if (isEnter && !isSubmit)
      for (const button of form.elements)
        if (/^(submit|image)$/.test(button.type || '')) add(button);
  }
  return {texts, addresses};
}"""


@dataclass(frozen=True)
class Target:
    """What a call touches."""

    texts: tuple[str, ...] = ()
    """What stands on it: text, accessible name, the label of the button that Enter presses."""
    addresses: tuple[str, ...] = ()
    """Where a click or Enter leads, as far as the markup says."""


def sets_off(call: GuardedCall) -> bool:
    """Return whether a call sets something off: a click, an accepted dialog, Enter, the space key."""
    if re.search("click|tap|submit|dialog", call.tool, re.IGNORECASE):
        return call.arguments.get("accept") is not False
    return is_enter(call) or str(call.arguments.get("key", "")).lower() in (" ", "space")


def is_enter(call: GuardedCall) -> bool:
    """Return whether the call presses Enter in a field, which sends its form."""
    arguments = call.arguments
    if arguments.get("submit") is True or str(arguments.get("key", "")).lower().endswith(("enter", "return")):
        return True
    return "type" in call.tool and "\n" in str(arguments.get("text") or "")


async def read_target(call: GuardedCall) -> Target:
    """Return what a call touches, read from the page; empty if it touches nothing that can be read.

    In a browser that brings its own tools, it is what the call and the latest snapshot say of its target.
    """
    window = call.window
    if not isinstance(window, PlaywrightWindow):
        return _recall(call)
    if window.dialog is not None:  # a page with a dialog does not answer
        return Target(texts=(window.dialog.message,))
    handle = await quietly(_find(window, call), window.rules.action_s)
    if handle is None:
        return Target()
    read = await quietly(handle.evaluate(_READ, is_enter(call)), 5)
    if read is None:
        return Target()
    return Target(tuple(map(str, read["texts"])), tuple(map(str, read["addresses"])))


def _recall(call: GuardedCall) -> Target:
    """Return what the call and the latest snapshot in the log say of its target.

    A page can write such lines too, which can only add words and addresses to what is refused.
    """
    said = tuple(said_by(call.arguments))
    marks = [f"[ref={ref}]" for text in said if (ref := ref_of(text))]
    for message in reversed(call.capture.messages.messages) if marks else ():
        output = str(message.result) if isinstance(message, ToolResultMessage) else ""
        if not any(mark in output for mark in marks):
            continue
        # The result is an envelope as Python writes it: line breaks are escaped there.
        lines = output.replace("\\n", "\n").split("\n")
        places = [place for place, line in enumerate(lines) if any(mark in line for mark in marks)]
        near = [lines[place + 1] for place in places if place + 1 < len(lines)]
        addresses = [line.partition("/url:")[2].strip(" \"'") for line in near if "/url:" in line]
        return Target((*said, *(lines[place].strip()[:300] for place in places)), tuple(addresses))
    return Target(said)


async def _find(window: PlaywrightWindow, call: GuardedCall) -> JSHandle | None:
    target, x, y = (call.arguments.get(name) for name in ("target", "x", "y"))
    if isinstance(target, str):
        try:
            return await resolve(window, target).element_handle()
        except ToolError:  # the tool says what is wrong
            return None
    if isinstance(x, int | float) and isinstance(y, int | float):
        return await window.page.evaluate_handle("([x, y]) => document.elementFromPoint(x, y)", [x, y])
    if is_enter(call):
        return await window.page.evaluate_handle("() => document.activeElement")
    return None


def said_by(arguments: Mapping[str, Any]) -> Iterator[str]:
    """Yield the texts of a call's arguments, without what it types."""
    for name, value in arguments.items():
        if name in TYPED:
            continue
        if isinstance(value, str):
            yield value
        elif isinstance(value, Mapping):
            yield from said_by(value)
        elif isinstance(value, list | tuple):
            yield from said_by({f"{name}[]": one for one in value if isinstance(one, str)})
            for one in value:
                if isinstance(one, Mapping):
                    yield from said_by(one)
