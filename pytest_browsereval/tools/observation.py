"""Tools that look at the page."""

from __future__ import annotations

from pytest_browsereval.browsers.playwright.origins import shorten
from pytest_browsereval.browsers.playwright.page_text import read_page_text
from pytest_browsereval.browsers.playwright.windows import PlaywrightWindow
from pytest_browsereval.tools.base import Tool, tool
from pytest_browsereval.tools.display import READ_LENGTH, cap_text, cut_tree, describe_gap
from pytest_browsereval.tools.targets import Target, act
from pytest_browsereval.tools.toolkit import Policy, Toolkit


@tool(takes_picture=False)
async def snapshot(window: PlaywrightWindow) -> str:
    """Return the page as a tree of roles, names and texts, with a ref such as e12 for every element."""
    tree = await window.snapshot()
    head = [f"URL: {shorten(window.url, 500)}"]
    tabs = await window.tabs()
    # The head is the page's text too, and a page may choose a title of any length.
    head += [f"Title: {shorten(tab.title, 200)}" for tab in tabs if tab.is_current]
    if len(tabs) > 1:
        named = (f"{t.tab_id} {shorten(t.title, 60)!r}{' (current)' if t.is_current else ''}" for t in tabs)
        head.append(f"Tabs: {', '.join(named)}")
    more = "read_text with a target reads one part of the page."
    return "\n".join([*head, "", cut_tree(tree, more) or "(The page is empty.)"])


@tool(takes_picture=False)
async def read_text(window: PlaywrightWindow, target: Target | None = None) -> str:
    """Return the visible text of the page, or of one element; of a field, what it holds."""
    limit_s = window.rules.action_s
    if target is None:
        seen = await read_page_text(window.page, READ_LENGTH, limit_s)
    else:
        seen = await act(
            window, target, lambda element: read_page_text(element, READ_LENGTH, limit_s), has_hit=False
        )
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
"""Its policy stands here, beside the tools."""
