"""Tabs: numbered 1, 2, ... in the order in which they were opened."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from pytest_browsereval.browsers.base import Window
from pytest_browsereval.browsers.playwright.origins import shorten
from pytest_browsereval.browsers.playwright.windows import PlaywrightWindow
from pytest_browsereval.tools.base import Tool, tool
from pytest_browsereval.tools.navigation import Url, check_url, open_url
from pytest_browsereval.tools.toolkit import Policy, Toolkit

TabId = Annotated[int, Field(ge=1, description="The tab's number.")]


@tool(takes_picture=False, needs_page=False)
async def list_tabs(window: Window) -> str:
    """List the open tabs with their numbers, titles and addresses."""
    lines = [
        f"{tab.tab_id}: {shorten(tab.title, 60)!r} {shorten(tab.url)}{' (current)' if tab.is_current else ''}"
        for tab in await window.tabs()
    ]
    return "\n".join(lines) or "No tab is open."


@tool(may_take_long=True, sets_off="", holds_value="url")
async def open_tab(window: PlaywrightWindow, url: Url | None = None) -> str:
    """Open a new tab, which becomes the current one, empty or at an address."""
    # Before the tab opens: an address that is refused leaves no empty tab behind.
    address = None if url is None else check_url(window, url)
    tab_id = await window.open_tab()
    message = f"Tab {tab_id} is open and current."
    return message if address is None else f"{message} {await open_url(window, address)}"


@tool(sets_off="", holds_value="tab_id")
async def select_tab(window: PlaywrightWindow, tab_id: TabId) -> str:
    """Make a tab the current one, which the other tools act on."""
    await window.select_tab(tab_id)
    return f"Tab {tab_id} is current: {shorten(window.url)}."


@tool(sets_off="", holds_value="tab_id")
async def close_tab(window: PlaywrightWindow, tab_id: TabId) -> str:
    """Close a tab."""
    await window.close_tab(tab_id)
    return f"Closed tab {tab_id}. Tab {window.tab_id} is current: {shorten(window.url)}."


TOOLS: tuple[Tool, ...] = (list_tabs, open_tab, select_tab, close_tab)

KIT = Toolkit(
    "tabs",
    "Several tabs",
    TOOLS,
    policy=(
        Policy(
            "All tools act on the current tab. A link may open another one: the result of the click says so."
        ),
        Policy("Close tabs that you have opened and need no more.", ("close_tab",)),
    ),
    absent="You cannot list, open, choose or close tabs.",
)
"""Its policy stands here, next to the tools."""
