"""Input to elements: mouse and keyboard, form fields, scrolling, dialogs."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from pytest_browsereval.browsers.playwright.origins import shorten
from pytest_browsereval.browsers.playwright.waiting import playwright_error, quietly
from pytest_browsereval.browsers.playwright.windows import PlaywrightWindow
from pytest_browsereval.browsers.playwright.world import ask_apart
from pytest_browsereval.tools.base import Refusal, Tool, ToolError, tool
from pytest_browsereval.tools.choices import choose, switch
from pytest_browsereval.tools.errors import explain
from pytest_browsereval.tools.following import follow_frames, follow_input
from pytest_browsereval.tools.keys import HoldMs, Key, Modifiers, name_key, press
from pytest_browsereval.tools.points import Position, drag_between, format_point, mouse_point, place_in
from pytest_browsereval.tools.targets import Target, act, ref_of, resolve
from pytest_browsereval.tools.toolkit import Policy, Toolkit
from pytest_browsereval.tools.values import (
    UNFOCUSED,
    describe_filled,
    describe_typed,
    find_focused,
    make_ready,
    read_value,
)

Button = Annotated[Literal["left", "right", "middle"], Field(description="Which mouse button.")]
ClickCount = Annotated[int, Field(ge=1, le=3, description="2 is a double click.")]
Direction = Annotated[Literal["up", "down", "left", "right"], Field(description="Where to scroll to.")]
Notches = Annotated[int, Field(ge=1, le=100, description="Notches of the wheel, 120 pixels each.")]
Text = Annotated[str, Field(max_length=100_000, description="The text.")]
NOTCH_PX = 120


@tool
async def click(
    window: PlaywrightWindow,
    target: Target,
    *,
    button: Button = "left",
    click_count: ClickCount = 1,
    modifiers: Modifiers | None = None,
    hold_ms: HoldMs = 0,
    position: Position | None = None,
) -> str:
    """Click an element."""
    named, how = shorten(target, 80), dict[str, Any](button=button, click_count=click_count)
    if modifiers:
        how["modifiers"] = modifiers
    if hold_ms:
        how |= {"delay": hold_ms, "timeout": window.rules.action_s * 1000 + hold_ms * click_count}
    if position:
        how["position"] = dict(zip("xy", position, strict=True))
        # Outside of it, Playwright would say that something else covers it.
        await act(window, target, lambda element: place_in(element, named, position), has_hit=False)
    async with follow_frames(window):
        await act(window, target, lambda element: element.click(**how), at=position)
    where = f"{named} at {format_point(*position)}" if position else named
    return describe_click(where, button, click_count, modifiers, hold_ms)


def describe_click(
    where: str, button: str, count: int, modifiers: Sequence[str] | None, hold_ms: float
) -> str:
    """Return what a click comes to, in a sentence."""
    how = {1: "Clicked", 2: "Double-clicked", 3: "Triple-clicked"}[count]
    more = f" with the {button} button" * (button != "left")
    more += f" with {' and '.join(modifiers)} down" if modifiers else ""
    return f"{how} {where}{more}{f', held for {hold_ms:g} ms' if hold_ms else ''}."


@tool(sets_off="")
async def hover(window: PlaywrightWindow, target: Target) -> str:
    """Move the pointer over an element."""
    await act(window, target, lambda element: element.hover())
    return f"The pointer is over {shorten(target, 80)}."


@tool(sets_off="", holds_value="text")
async def fill(window: PlaywrightWindow, target: Target, text: Text) -> str:
    """Replace the content of a text field, all at once."""
    began = time.monotonic()
    await act(window, target, lambda element: element.fill(text))
    return describe_filled(target, text, await read_value(window, target, began, text))


@tool(sets_off="keys", holds_value="text")
async def type_text(
    window: PlaywrightWindow,
    target: Target,
    text: Annotated[str, Field(min_length=1, max_length=2000, description="The text.")],
) -> str:
    """Type into an element key by key, after what is there. Use fill unless the page reacts to each key."""
    began, before = time.monotonic(), await make_ready(window, target, for_text=True)
    async with follow_input(window):
        await window.page.keyboard.type(text)
    value = await read_value(window, target, began, has_had_time=True)
    return describe_typed(f" into {shorten(target, 80)}", text, value, before)


@tool(sets_off="keys", holds_value="key")
async def press_key(
    window: PlaywrightWindow,
    key: Annotated[Key, Field(description="Enter, Escape, ArrowDown, a, Control+A, …")] | None = None,
    target: Target | None = None,
    keys: Annotated[
        list[Key],
        Field(min_length=1, max_length=100, description="Instead of key: several, one after the other."),
    ]
    | None = None,
    hold_ms: HoldMs = 0,
) -> str:
    """Press a key or a combination of keys, in an element or where the focus is."""
    if (key is None) is (keys is None):
        raise Refusal("Give either key or keys.")
    pressed = keys or [str(key)]
    names = [name_key(one) for one in pressed]
    is_lost = target is None and any(len(name) == 1 for name in names) and await find_focused(window) is False
    if target is not None:
        await make_ready(window, target, for_text=False)
    async with follow_input(window):
        await press(window.page.keyboard, pressed, hold_ms)
    where = f" in {shorten(target, 80)}" if target else ""
    held = f", held for {hold_ms:g} ms" if hold_ms else ""
    return f"Pressed {', '.join(names)}{where}{held}.{f' {UNFOCUSED}' if is_lost else ''}"


@tool(sets_off="choice", holds_value="value")
async def select_option(
    window: PlaywrightWindow,
    target: Target,
    value: Annotated[str, Field(max_length=1000, description="The option's value or label.")] | None = None,
    values: Annotated[
        list[Annotated[str, Field(max_length=1000)]],
        Field(max_length=200, description="Instead of value: all options that are to be chosen, no others."),
    ]
    | None = None,
) -> str:
    """Choose an option of a list; where several may be chosen, in addition to those that are."""
    if (value is None) is (values is None):
        raise Refusal("Give either value or values.")
    return await choose(window, target, [str(value)] if values is None else values, adds=values is None)


@tool
async def check(window: PlaywrightWindow, target: Target) -> str:
    """Switch a check box or radio button on, unless it is on."""
    return await switch(window, target, on=True)


@tool(sets_off="")
async def uncheck(window: PlaywrightWindow, target: Target) -> str:
    """Switch a check box off, unless it is off."""
    return await switch(window, target, on=False)


@tool
async def drag(
    window: PlaywrightWindow, source: Target, target: Target, to_position: Position | None = None
) -> str:
    """Drag one element onto another one."""
    begin, end = resolve(window, source), resolve(window, target)
    if ref := ref_of(target):
        window.check_ref(ref)
    await act(window, source, lambda element: element.hover())
    place = await begin.bounding_box()
    try:
        await act(window, target, lambda element: element.hover(trial=True))
    except playwright_error() as error:
        raise explain(error, {"target": target}) from None
    # This look moves the pointer; a handle may be there only while the pointer is over it.
    if place and not await begin.is_visible():
        x, y = place["x"] + place["width"] / 2, place["y"] + place["height"] / 2
        await window.page.mouse.move(x, y)
    # The target may have scrolled the source away.
    await begin.hover()
    async with follow_input(window):
        note = await drag_between(window, begin, end, target, to_position)
    where = f" at {format_point(*to_position)}" if to_position else ""
    return f"Dragged {shorten(source, 80)} to {shorten(target, 80)}{where}{note and f'; {note}'}."


@tool(sets_off="", holds_value="direction")
async def scroll(
    window: PlaywrightWindow, direction: Direction, amount: Notches = 3, target: Target | None = None
) -> str:
    """Turn the mouse wheel over an element, or over the middle of the page."""
    page = window.page
    if target is not None:
        await act(window, target, lambda element: element.hover())
    # The wheel turns what is under the pointer, which may be over a list of its own.
    elif size := page.viewport_size:
        await page.mouse.move(*await mouse_point(window, size["width"] / 2, size["height"] / 2))
    return await turn_wheel(window, direction, amount)


# The wheel turns what is under the pointer: each of these that can move, and the page.
_UNDER_POINTER = Path(__file__).with_name("scroll.js").read_text(encoding="utf-8")
FRAME_S = 0.04
"""Longer than Chromium takes to draw a frame, and to move what a wheel turns."""
_REST_S = 1.0


async def turn_wheel(window: PlaywrightWindow, direction: str, amount: int) -> str:
    """Turn the wheel where the pointer is and tell where the page is when it has come to rest."""
    sign = -1 if direction in ("up", "left") else 1
    way = sign * amount * NOTCH_PX
    is_upright = direction in ("up", "down")
    page = window.page
    await quietly(ask_apart(page, _UNDER_POINTER, "before", limit_s=1), 1)
    await page.mouse.wheel(0 if is_upright else way, way if is_upright else 0)
    message = f"Scrolled {direction} by {abs(way)} pixels."
    places = await quietly(_rest(window), window.rules.action_s)
    # The page hangs or navigates: the wheel was turned all the same.
    if not places:
        return message
    axis = int(is_upright)
    moved = [one for one in places if one["before"][axis] != one["now"][axis]]
    if not moved:
        if any(not one["name"] for one in places):
            return f"{message} The scroll went to a frame of another origin, whose position cannot be read."
        first = next((one for one in reversed(places) if one["end"][axis]), places[0])
        return f"{message} Nothing moved: the {_describe_place(first, axis)}."
    return f"{message} The {_describe_place(moved[-1], axis)}."


def _describe_place(one: dict[str, Any], axis: int) -> str:
    return f"{one['name']} is at {one['now'][axis]:,} of {one['end'][axis]:,}"


async def _rest(window: PlaywrightWindow) -> list[dict[str, Any]]:
    """Return where all that the wheel may have turned is when it has come to rest."""
    limit_s = window.rules.action_s
    deadline = asyncio.get_running_loop().time() + _REST_S
    before = None
    while True:
        await asyncio.sleep(FRAME_S)
        places: list[dict[str, Any]] = await ask_apart(window.page, _UNDER_POINTER, "after", limit_s=limit_s)
        if places == before or asyncio.get_running_loop().time() >= deadline:
            return places
        before = places


@tool(sets_off="choice")
async def handle_dialog(
    window: PlaywrightWindow,
    accept: Annotated[bool, Field(description="True for OK, false for Cancel.")],
    text: Annotated[str | None, Field(max_length=2000, description="What to type into a prompt.")] = None,
) -> str:
    """Answer the dialog that the page shows: alert, confirm, prompt, or the question whether to leave."""
    dialog = window.dialog
    if dialog is None:
        raise ToolError("No dialog is open.")
    message = f"{dialog.type} {shorten(dialog.message, 80)!r}"
    if not await window.answer_dialog(accept=accept, text=text):
        return f"The {message} had gone before it was answered."
    return f"{'Accepted' if accept else 'Dismissed'} the {message}."


TOOLS: tuple[Tool, ...] = (
    click,
    hover,
    fill,
    type_text,
    press_key,
    select_option,
    check,
    uncheck,
    drag,
    scroll,
    handle_dialog,
)

KIT = Toolkit(
    "input",
    "Clicks, keys and forms, by element",
    TOOLS,
    policy=(
        Policy("Read each result before you go on: it tells whether the element was found and what changed."),
        Policy(
            "`fill` replaces what a field holds; use `type_text` only where the page reacts to each key.",
            ("fill", "type_text"),
        ),
        Policy(
            "A dialog of the page stops everything else until `handle_dialog` has answered it.",
            ("handle_dialog",),
        ),
    ),
    absent="You cannot act on elements by ref or selector.",
)
"""Its policy stands here, next to the tools."""
