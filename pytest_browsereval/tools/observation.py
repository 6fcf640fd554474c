"""Tools that look at the page."""

from __future__ import annotations

import asyncio
from typing import Annotated, Literal

from pydantic import Field

from pytest_browsereval.browsers.playwright.origins import shorten
from pytest_browsereval.browsers.playwright.page_text import list_canvases, read_page_text
from pytest_browsereval.browsers.playwright.waiting import quietly
from pytest_browsereval.browsers.playwright.windows import PlaywrightWindow
from pytest_browsereval.tools.base import Tool, tool
from pytest_browsereval.tools.display import READ_LENGTH, add_canvases, cap_text, cut_tree, describe_gap
from pytest_browsereval.tools.targets import Target, act, resolve
from pytest_browsereval.tools.toolkit import Policy, Toolkit


@tool(takes_picture=False)
async def snapshot(window: PlaywrightWindow, target: Target | None = None) -> str:
    """Return the page, or a part of it, as a tree of roles, names and texts, with a ref for every element."""
    part = None if target is None else resolve(window, target)
    taking = act(window, target, window.snapshot, has_hit=False) if target else window.snapshot()
    tree = await taking
    limit_s = window.rules.title_s
    canvases, tabs = await asyncio.gather(list_canvases(window.page, part, limit_s), window.tabs())
    tree = add_canvases(tree, canvases)
    if target is not None:
        return cut_tree(tree, "Pass a target within it.") or f"{shorten(target, 80)} is empty."
    head = [f"URL: {shorten(window.url, 500)}"]
    # The head is the page's text too, and a page may choose a title of any length.
    head += [f"Title: {shorten(tab.title, 200)}" for tab in tabs if tab.is_current]
    if len(tabs) > 1:
        named = (f"{t.tab_id} {shorten(t.title, 60)!r}{' (current)' if t.is_current else ''}" for t in tabs)
        head.append(f"Tabs: {', '.join(named)}")
    more = "With a target, snapshot shows and read_text reads one part of the page."
    return "\n".join([*head, "", cut_tree(tree, more) or "(The page is empty.)"])


@tool(takes_picture=False)
async def read_text(
    window: PlaywrightWindow,
    target: Target | None = None,
    media: Annotated[Literal["print"] | None, Field(description="print: what would be printed.")] = None,
) -> str:
    """Return the visible text of the page, or of one element; of a field, what it holds."""
    page, limit_s = window.page, window.rules.action_s
    try:
        if media is not None:
            await page.emulate_media(media=media)
        if target is None:
            seen = await read_page_text(page, READ_LENGTH, limit_s)
        else:
            seen = await act(
                window, target, lambda element: read_page_text(element, READ_LENGTH, limit_s), has_hit=False
            )
    finally:
        if media is not None:
            await quietly(page.emulate_media(media="null"), limit_s)
    text = cap_text(seen.value, "The rest: pass a target to read one part of the page.")
    return "\n".join(filter(None, (text, describe_gap(seen)))) or "There is no visible text."


@tool(sets_off="")
async def screenshot(window: PlaywrightWindow) -> str:
    """Take a picture of the visible part of the page."""
    size = window.page.viewport_size
    shown = f"{size['width']} x {size['height']} CSS pixels of " if size else ""
    return f"The picture shows {shown}{shorten(window.url)}."


TOOLS: tuple[Tool, ...] = (snapshot, read_text, screenshot)

KIT = Toolkit(
    "observation",
    "Snapshot, text, picture",
    TOOLS,
    policy=(
        Policy(
            "`snapshot` gives every element a ref. Refs are those of the latest one: once the page has "
            "changed, take another before you use a ref.",
            ("snapshot",),
        ),
        Policy("For long texts, `read_text` with a target costs less than the whole page.", ("read_text",)),
        Policy("`screenshot` shows what text cannot: charts, maps, colours, layout.", ("screenshot",)),
    ),
    absent="You cannot look at the page when you like; results of your actions are all you learn of it.",
    needs_pictures=("screenshot",),
)
"""Its policy stands here, next to the tools."""
