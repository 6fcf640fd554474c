"""Comboboxes: fields and buttons that open a list of options, which may load late or be filtered."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any

from pytest_browsereval.browsers.playwright.origins import shorten
from pytest_browsereval.browsers.playwright.windows import PlaywrightWindow
from pytest_browsereval.browsers.playwright.world import ask_apart, find_apart
from pytest_browsereval.errors import nearest
from pytest_browsereval.tools.base import Refusal, ToolError
from pytest_browsereval.tools.following import await_frame, follow_frames
from pytest_browsereval.tools.targets import act, resolve
from pytest_browsereval.tools.values import read_back, read_script

if TYPE_CHECKING:
    from playwright.async_api import Locator

MOST_LISTED = 12
_STEPS_S = 30.0
"""How long one way through a list may take: a slow page draws it row by row."""
MOST_STEPS = 1000
"""Options that arrow keys go through, where the page draws a few of them only."""
_POLL_S = 0.1
_KEPT_S = 1.0
"""How long a page may take to show what was chosen."""

_COMBO = read_script("combobox")
_LOOK = f"(one, text) => {{{_COMBO} return look(one, text); }}"
_LOOK_AGAIN = f"(one, text) => {{{_COMBO} return read(one, (one) => look(one, text)); }}"
# The field itself may be under the text that it shows.
_OPENER = f"(one) => {{{_COMBO} return opener(one); }}"
_OPTION = f"(one, place) => {{{_COMBO} return optionsOf(boxOf(combo(one)))[place]; }}"


async def choose_in_combobox(window: PlaywrightWindow, target: str, text: str) -> str:
    """Choose an option of a combobox by its label or value, and return what is so now.

    Raises:
        ToolError: it is not a combobox with a list, has no such option, or the page does not keep it.
    """
    named, said = shorten(target, 80), repr(shorten(text, 60))
    before = await act(window, target, lambda element: ask_apart(element, _LOOK, text), has_hit=False)
    _check_kind(named, before)
    async with follow_frames(window):
        if not before["is_open"]:
            await act(window, target, lambda element: find_apart(element, _OPENER).click())
        element, began = resolve(window, target), time.monotonic()
        now = await _find_option(window, element, text)
        _check_option(named, text, now)
        if now["is_chosen"] and now["shows"]:
            return f"{named} has {said} already. Its list is open."
        if now["is_seen"]:
            await find_apart(element, _OPTION, now["place"]).click()
        else:
            await window.page.keyboard.press("Enter")
    deadline = time.monotonic() + _KEPT_S
    while (after := await read_back(window, target, _LOOK_AGAIN, began, text)) and "shown" in after:
        if after["shows"] or after["is_chosen"]:
            break
        if time.monotonic() >= deadline:
            shown = repr(shorten(after["shown"], 60)) if after["shown"] else "nothing"
            if after["shown"] == before["shown"]:
                raise ToolError(f"{named} shows {shown} now, not {said}: the page did not keep it.")
            return f"Chose {said} in {named}, which shows {shown} now."
        await asyncio.sleep(_POLL_S)
    return f"Chose {said} in {named}."


def _check_kind(named: str, found: dict[str, Any]) -> None:
    if "shown" not in found:
        if found["has_list"]:
            raise Refusal(f"{named} is a text field with suggestions. Call fill.")
        raise Refusal(f"{named} is not a list of options.")
    if found["popup"] in ("dialog", "grid", "tree"):
        raise Refusal(f"{named} opens a {found['popup']}, not a list of options. Click it.")
    if found["is_off"]:
        raise ToolError(f"{named} is disabled.")


def _check_option(named: str, text: str, now: dict[str, Any]) -> None:
    said = repr(shorten(text, 60))
    if now["count"] > 1:
        raise ToolError(f"{named} has several options {said}. Click one of them by its ref.")
    if now["is_option_off"]:
        raise ToolError(f"The option {said} of {named} is disabled.")
    if not now["is_seen"] and not now["is_active"]:
        listed = ", ".join(repr(shorten(one, 30)) for one in now["all"][:MOST_LISTED]) or "none"
        typed = " The field may still hold what was typed to find it." if now["takes_text"] else ""
        raise ToolError(f"{named} has no option {said}.{nearest(text, now['all'])} Options: {listed}.{typed}")


async def _find_option(window: PlaywrightWindow, element: Locator, text: str) -> dict[str, Any]:
    """Return what an open combobox has once an option is drawn or active, or was waited for.

    Where it takes a text, the option's is typed: a list may have what was typed only, and later. Where a
    page draws a few options of many, or draws them as it likes, arrow keys find the option.
    """
    typed = stepped = False
    deadline = time.monotonic() + window.rules.action_s
    while True:
        await await_frame(window)
        now: dict[str, Any] = await ask_apart(element, _LOOK, text)
        if now["is_seen"] or time.monotonic() >= deadline:
            return now
        if now["takes_text"] and not typed:
            typed = True
            await window.page.keyboard.press("ControlOrMeta+A")
            await window.page.keyboard.type(text)
        elif not stepped and (now["count"] or (now["active"] and not now["takes_text"])):
            stepped = True
            for key in ("ArrowDown", "ArrowUp"):
                now = await _step(window, element, text, key)
                if now["is_active"]:
                    return now
        await asyncio.sleep(_POLL_S)


async def _step(window: PlaywrightWindow, element: Locator, text: str, key: str) -> dict[str, Any]:
    """Press an arrow key until the option is active, or there is no other one.

    Raises:
        ToolError: the list is too long, or too slow, to go through.
    """
    seen, deadline = set[str](), time.monotonic() + _STEPS_S
    while True:
        now: dict[str, Any] = await ask_apart(element, _LOOK, text)
        if now["is_active"] or now["active"] in seen:
            return now
        if len(seen) >= MOST_STEPS or time.monotonic() >= deadline:
            said = repr(shorten(text, 60))
            raise ToolError(f"{said} is not among the first {len(seen):,} options, and the list goes on.")
        seen.add(now["active"])
        await window.page.keyboard.press(key)
        await await_frame(window)
