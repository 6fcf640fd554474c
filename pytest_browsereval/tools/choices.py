"""Check boxes, radio buttons and lists: what is switched or chosen, and what the page made of it."""

from __future__ import annotations

import time
from typing import Any

from pytest_browsereval.browsers.playwright.origins import shorten
from pytest_browsereval.browsers.playwright.waiting import playwright_error
from pytest_browsereval.browsers.playwright.windows import PlaywrightWindow
from pytest_browsereval.browsers.playwright.world import ask_apart, find_apart
from pytest_browsereval.tools.base import ToolError
from pytest_browsereval.tools.hits import take_hit
from pytest_browsereval.tools.targets import act, resolve
from pytest_browsereval.tools.values import CONTROL, read_back

MOST_OPTIONS = 12

_SWITCH = (
    CONTROL
    + """
  const SWITCHES = 'input[type=checkbox], input[type=radio], [role=checkbox], [role=radio], [role=switch]';
  const inner = (one) => {  // of a component, whose switch is in its shadow tree
    const all = one.shadowRoot?.querySelectorAll(SWITCHES) ?? [];
    return all.length === 1 ? all[0] : control(one);
  };
  const isOn = (el) => el.localName === 'input' && /^(checkbox|radio)$/.test(el.type) ? el.checked
    : el.hasAttribute('aria-checked') ? el.getAttribute('aria-checked') === 'true' : null;
  const hit = (el) => {
    const box = el.getBoundingClientRect();
    const at = [(box.left + box.right) / 2, (box.top + box.bottom) / 2];
    return box.width && box.height ? el.getRootNode().elementFromPoint(...at) : null;
  };"""
)
_LOOK = f"""(one) => {{{_SWITCH}
  const el = inner(one);
  if (isOn(el) !== null && !el.contains(hit(el))) el.scrollIntoView({{block: 'center', behavior: 'instant'}});
  const isCovered = el !== one || !el.contains(hit(el));
  return {{is_on: isOn(el), is_radio: el.type === 'radio', is_covered: isCovered, hit: browserevalHit(one)}};
}}"""
# What a person would click instead: a part of its label or its component that leads nowhere else.
_PICK = f"""(one) => {{{_SWITCH}
  const el = inner(one), root = el.getRootNode();
  const label = el.closest('label') ?? el.labels?.[0], component = root.host ? root : null;
  const isOwn = (part) => (label?.contains(part) || component?.contains(part))
    && [el, null].includes(part.closest(`a, button, select, textarea, input, ${{SWITCHES}}`));
  const parts = [el, hit(el), ...label?.querySelectorAll('*') ?? [], label];
  return parts.find((part) => part && isOwn(part) && hit(part) && isOwn(hit(part))
    && (part.contains(hit(part)))) ?? one;
}}"""
_READ = f"(one) => {{{_SWITCH} return read(one, (one) => isOn(inner(one))); }}"

_LIST = (
    CONTROL
    + """
  const list = (one, wanted) => {
    const el = control(one);
    if (el.localName !== 'select') return null;
    const flat = (text) => text.trim().replace(/\\s+/g, ' ');
    const options = [...el.options], of = (picked) => picked.map((option) => options.indexOf(option));
    const labelled = options.filter((option) => flat(option.label) === flat(wanted));
    const valued = options.filter((option) => option.value === wanted);
    const found = labelled.length ? labelled : valued;
    const both = found.filter((option) => option.value === wanted), chosen = [...el.selectedOptions];
    return {
      is_multiple: el.multiple, found: of(both.length ? both : found), values: found.map((one) => one.value),
      usable: of(found.filter((option) => !option.matches(':disabled'))),
      chosen: of(chosen), labels: chosen.map((option) => option.label),
      all: options.slice(0, MOST).map((option) => option.label),
    };
  };""".replace("MOST", str(MOST_OPTIONS))
)
_LIST_NOW = f"(one, wanted) => {{{_LIST} return list(one, wanted); }}"
_LIST_THEN = f"(one, wanted) => {{{_LIST} return read(one, (one) => list(one, wanted)); }}"


async def switch(window: PlaywrightWindow, target: str, *, on: bool) -> str:
    """Switch a check box or a radio button, unless it is as it is to be, and return what is so now.

    Raises:
        ToolError: the page keeps it as it was.
    """
    began, named = time.monotonic(), shorten(target, 80)
    state = "is checked" if on else "is not checked"
    before = take_hit(
        window, await act(window, target, lambda element: ask_apart(element, _LOOK), has_hit=False)
    )
    if before["is_on"] is on:
        return f"{named} {state}."
    if before["is_on"] is None:
        raise ToolError(f"{named} is not a check box or a radio button.")
    if before["is_radio"] and not on:
        raise ToolError(f"{named} is a radio button. Check another one of its group instead.")
    element = resolve(window, target)
    await (find_apart(element, _PICK) if before["is_covered"] else element).click()
    after = await read_back(window, target, _READ, began)
    if after is None:
        return f"Clicked {named}."
    if after is not on:
        raise ToolError(
            f"{named} {'is not checked' if on else 'is checked'}: the page did not keep the click."
        )
    return f"{named} {state}."


async def choose(window: PlaywrightWindow, target: str, value: str) -> str:
    """Choose an option by its label or its value, and return what is chosen now.

    Raises:
        ToolError: there is not one such option, or the page does not keep it.
    """
    began, named, asked = time.monotonic(), shorten(target, 80), shorten(value, 60)
    before = await act(window, target, lambda element: ask_apart(element, _LIST_NOW, value), has_hit=False)
    if before and len({*before["values"]}) > 1 and value not in before["values"]:
        values = _quote(before["values"])
        raise ToolError(f"{named} has several options {asked!r}. Write the value of one of them: {values}.")
    # By its place: what it is called may be the value of another one.
    index = [i for i in before["found"] if i in before["usable"]][:1] if before else []
    kept = before["chosen"] if before and before["is_multiple"] else []
    how: dict[str, Any] = {"index": [*kept, *index]} if index else {"value": value}
    try:
        await act(window, target, lambda element: element.select_option(**how))
    except playwright_error() as error:
        # Playwright waited in vain; a model needs the options that there are.
        if "option being selected is not enabled" in str(error):
            raise ToolError(f"The option {asked!r} of {named} is disabled.") from None
        if not before or "did not find some options" not in str(error):
            raise
        options = _quote(before["all"]) or "none"
        raise ToolError(f"{named} has no option {asked!r}. Options: {options}.") from None
    after = await read_back(window, target, _LIST_THEN, began, value)
    if after is None:
        return f"Chose {asked!r} in {named}."
    chosen = _quote(after["labels"]) or "nothing"
    if not set(after["found"]) & set(after["chosen"]):
        raise ToolError(f"{named} has {chosen} chosen now, not {asked!r}: the page did not keep it.")
    return f"Chose {asked!r} in {named}.{f' Chosen now: {chosen}.' if after['is_multiple'] else ''}"


def _quote(labels: list[str]) -> str:
    return ", ".join(repr(shorten(label, 30)) for label in labels[:MOST_OPTIONS])
