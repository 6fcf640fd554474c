"""Check boxes, radio buttons and lists: what is switched or chosen, and what the page made of it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

from pydantic import JsonValue

from pytest_browsereval.browsers.playwright.origins import shorten
from pytest_browsereval.browsers.playwright.windows import PlaywrightWindow
from pytest_browsereval.browsers.playwright.world import ask_apart, find_apart
from pytest_browsereval.errors import nearest
from pytest_browsereval.tools.base import Refusal, ToolError
from pytest_browsereval.tools.comboboxes import choose_in_combobox
from pytest_browsereval.tools.following import follow_frames
from pytest_browsereval.tools.hits import take_hit
from pytest_browsereval.tools.targets import act, resolve
from pytest_browsereval.tools.values import read_back, read_script

if TYPE_CHECKING:
    from playwright.async_api import Locator

MOST_OPTIONS = 12
_POLL_S = 0.1
MOST_READ = 1000
"""Options that are compared with one that is not there."""

_SWITCH = read_script("switch")
_LOOK = f"(one) => {{{_SWITCH} return look(one); }}"
# What a person would click instead: a part of its label or its component that leads nowhere else.
_PICK = f"(one) => {{{_SWITCH} return pick(one); }}"
_READ = f"(one) => {{{_SWITCH} return read(one, (one) => isOn(inner(one))); }}"

_LIST = read_script("list").replace("MOST", str(MOST_READ))
_LIST_NOW = f"(one, asked) => {{{_LIST} return list(one, asked); }}"
_LIST_THEN = f"(one, asked) => {{{_LIST} return read(one, (one) => list(one, asked)); }}"
_OPTION = f"(one, place) => {{{_LIST} return optionsOf(boxOf(control(one)))[place]; }}"


async def switch(window: PlaywrightWindow, target: str, *, on: bool) -> str:
    """Switch a check box or a radio button, unless it is as it is to be, and return what is so now.

    Raises:
        ToolError: the page keeps it as it was.
    """
    began, named = time.monotonic(), shorten(target, 80)
    states = ("is not checked", "is checked")
    before = take_hit(
        window, await act(window, target, lambda element: ask_apart(element, _LOOK), has_hit=False)
    )
    if before["is_on"] is on:
        return f"{named} {states[on]}."
    if before["is_on"] is None:
        raise ToolError(f"{named} is not a check box or a radio button.")
    if before["is_radio"] and not on:
        raise ToolError(f"{named} is a radio button. Check another one of its group instead.")
    element = resolve(window, target)
    async with follow_frames(window):
        await (find_apart(element, _PICK) if before["is_covered"] else element).click()
    after = await read_back(window, target, _READ, began)
    if after is None:
        return f"Clicked {named}."
    if after is not on:
        raise ToolError(f"{named} {states[not on]}: the page did not keep the click.")
    return f"{named} {states[on]}."


async def choose(window: PlaywrightWindow, target: str, asked: Sequence[str], *, adds: bool) -> str:
    """Choose options by their labels or values, and return what is chosen now.

    Args:
        window: where the list is.
        target: the list.
        asked: the options.
        adds: whether others stay chosen, where several may be.

    Raises:
        ToolError: there is not one such option for each, or the page does not keep them.
    """
    began, named = time.monotonic(), shorten(target, 80)
    given: list[JsonValue] = [*asked]
    before = await _find_list(window, target, given)
    if before and before["has_combobox"] and before["is_closed"] and before["is_multiple"]:
        await act(window, target, lambda element: element.click())
        before = await _find_list(window, target, given)
    if before is None or (before["has_combobox"] and before["is_closed"]):
        if len(asked) != 1:
            raise Refusal(f"{named} takes one option in a call: pass value, once for each.")
        return await choose_in_combobox(window, target, asked[0])
    _check_asked(named, asked, before)
    # By their places: what one is called may be the value of another one.
    kept = before["chosen"] if before["is_multiple"] and adds else []
    places = [*kept, *(one["usable"][0] for one in before["each"])]
    if before["is_native"]:
        await act(window, target, lambda element: element.select_option(index=places))
    else:
        await _click_options(window, target, before, set(places))
    after = await read_back(window, target, _LIST_THEN, began, given)
    said = _quote(asked, 60) or "nothing"
    if after is None:
        return f"Chose {said} in {named}."
    chosen, found = set(after["chosen"]), [set(one["found"]) for one in after["each"]]
    others = set() if adds else chosen.difference(*found)
    if others or not all(one & chosen for one in found):
        has = _quote(after["labels"]) or "nothing"
        raise ToolError(f"{named} has {has} chosen now, not {said}: the page did not keep it.")
    now = f" Chosen now: {_quote(after['labels']) or 'nothing'}." if after["is_multiple"] else ""
    return f"Chose {said} in {named}.{now}"


async def _find_list(window: PlaywrightWindow, target: str, asked: list[JsonValue]) -> dict[str, Any] | None:
    """Return what a list has, once it has the options or they were waited for; None if it is no list."""
    deadline = time.monotonic() + window.rules.action_s
    while True:
        found: dict[str, Any] | None = await act(
            window, target, lambda element: ask_apart(element, _LIST_NOW, asked), has_hit=False
        )
        if not found or all(one["usable"] for one in found["each"]) or time.monotonic() >= deadline:
            return found
        await asyncio.sleep(_POLL_S)


def _check_asked(named: str, asked: Sequence[str], before: dict[str, Any]) -> None:
    if len(asked) != 1 and not before["is_multiple"]:
        raise Refusal(f"{named} takes one option: pass value instead of values.")
    for text, one in zip(asked, before["each"], strict=True):
        if len({*one["values"]}) > 1 and text not in one["values"]:
            values, what = _quote(one["values"]), repr(shorten(text, 60))
            raise ToolError(f"{named} has several options {what}. Write the value of one of them: {values}.")
    if missing := [text for text, one in zip(asked, before["each"], strict=True) if not one["found"]]:
        hint, options = nearest(missing[0], before["all"]), _quote(before["all"]) or "none"
        raise ToolError(f"{named} has no option {_quote(missing, 60)}.{hint} Options: {options}.")
    if before["is_closed"]:
        raise ToolError(f"{named} is closed, so that none of its options is seen. Click it first.")
    if off := [text for text, one in zip(asked, before["each"], strict=True) if not one["usable"]]:
        raise ToolError(f"The option {_quote(off)} of {named} is disabled.")


async def _click_options(
    window: PlaywrightWindow, target: str, before: dict[str, Any], wanted: set[int]
) -> None:
    """Click options of a list that is no field: with Ctrl where several may be chosen, as a person does."""
    is_multiple = before["is_multiple"]
    wrong = wanted.symmetric_difference(before["chosen"]) if is_multiple else wanted - {*before["chosen"]}
    modifiers: list[Literal["ControlOrMeta"]] = ["ControlOrMeta"] if is_multiple else []
    for place in sorted(wrong):

        async def click(element: Locator, place: int = place) -> None:
            await find_apart(element, _OPTION, place).click(modifiers=modifiers)

        await act(window, target, click)


def _quote(labels: Sequence[str], longest: int = 30) -> str:
    return ", ".join(repr(shorten(label, longest)) for label in labels[:MOST_OPTIONS])
