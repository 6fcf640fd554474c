"""Browser servers that are known: which of their tools navigates, looks, draws and closes. Data, no code.

What stands here is only used as far as the server at hand lists the tools and takes the arguments. Patterns
read the texts that tools answer with: the groups ``page``, ``url`` and ``title`` tell where the browser is,
``{page}`` stands for the page that the attempt works in.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_PLAYWRIGHT_PAGE = r"(?m)^### Page\n- Page URL: (?P<url>.*)(?:\n- Page Title: (?P<title>.*))?$"
_DEVTOOLS_PAGE = r"(?m)^(?P<page>\d+): (?:(?P<title>.*) \()?(?P<url>\S+?)\)? \[selected\]$"
_BROWSEROS_TABS = r"(?m)^\[{page}\] (?P<url>data:.*?|\S+)(?: \((?P<title>.*)\))?$"
_BROWSEROS_PAGES = r"(?m)^{page}\. (?P<title>.*) \(tab \d+\)\n   (?P<url>data:.*|\S+)$"
_PICTURE = {"page": "{page}", "format": "{format}", "quality": "{quality}"}

KNOWN: Mapping[str, tuple[frozenset[str], Mapping[str, Mapping[str, Any]]]] = {
    "Playwright MCP": (
        frozenset({"browser_navigate", "browser_snapshot", "browser_take_screenshot"}),
        {
            "navigate": {"tool": "browser_navigate", "arguments": {"url": "{url}"}},
            "snapshot": {"tool": "browser_snapshot", "pattern": _PLAYWRIGHT_PAGE},
            "screenshot": {
                "tool": "browser_take_screenshot",
                "arguments": {"type": "{format}", "scale": "css"},
            },
            "close": {"tool": "browser_close"},
            "address": {"tool": "browser_evaluate", "arguments": {"function": "() => {script}"}},
        },
    ),
    "BrowserOS (16 tools)": (
        frozenset({"tabs", "navigate", "snapshot", "screenshot", "act"}),
        {
            "navigate": {
                "tool": "tabs",
                "arguments": {"action": "new", "url": "{url}"},
                "pattern": r"opened page (?P<page>\d+)",
            },
            "snapshot": {"tool": "snapshot", "arguments": {"page": "{page}"}},
            "screenshot": {"tool": "screenshot", "arguments": _PICTURE},
            "close": {"tool": "tabs", "arguments": {"action": "close", "page": "{page}"}},
            "address": {"tool": "evaluate", "arguments": {"page": "{page}", "code": "{script}"}},
            "pages": {"tool": "tabs", "arguments": {"action": "list"}, "pattern": _BROWSEROS_TABS},
        },
    ),
    "BrowserOS (60 tools)": (
        frozenset({"get_active_page", "new_page", "take_snapshot", "take_screenshot", "close_page"}),
        {
            "navigate": {
                "tool": "new_page",
                "arguments": {"url": "{url}"},
                "pattern": r"(?m)^Page ID: (?P<page>\d+)$",
            },
            "snapshot": {"tool": "take_snapshot", "arguments": {"page": "{page}"}},
            "screenshot": {"tool": "take_screenshot", "arguments": _PICTURE},
            "close": {"tool": "close_page", "arguments": {"page": "{page}"}},
            "pages": {"tool": "list_pages", "pattern": _BROWSEROS_PAGES},
        },
    ),
    "Chrome DevTools MCP": (
        frozenset({"list_pages", "navigate_page", "take_snapshot", "take_screenshot"}),
        {
            "navigate": {
                "tool": "navigate_page",
                "arguments": {"type": "url", "url": "{url}", "pageId": "{page}"},
                "fails": r"^Unable to navigate",
            },
            "snapshot": {"tool": "take_snapshot", "arguments": {"pageId": "{page}"}},
            "screenshot": {
                "tool": "take_screenshot",
                "arguments": {"pageId": "{page}", "format": "{format}", "quality": "{quality}"},
            },
            "close": {
                "tool": "navigate_page",
                "arguments": {"type": "url", "url": "about:blank", "pageId": "{page}"},
            },
            "pages": {"tool": "list_pages", "pattern": _DEVTOOLS_PAGE},
            "address": {
                "tool": "evaluate_script",
                "arguments": {"pageId": "{page}", "function": "() => {script}"},
            },
        },
    ),
}
"""The tools that have to be listed, all of them, and uses as a config's ``tools`` would be written. The first
whose tools are all listed is taken."""

NO_BROWSER_TOOLS: Mapping[str, frozenset[str]] = {
    "BrowserOS (16 tools)": frozenset(
        {"connector_mcp_servers", "discover_server_categories_or_actions", "execute_action"}
    ),
    "BrowserOS (60 tools)": frozenset({"suggest_schedule", "suggest_app_connection"}),
}
"""Tools that are listed and have nothing to do with the browser, such as those of a user's mail: they are not
offered."""
