"""Which tools of a server are used for what, and what is said when they do not do."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_browsereval.browsers.base import ForeignTool
from pytest_browsereval.features.mcp_browser.mapping import (
    KNOWN,
    Mapped,
    MappingProblem,
    ToolUse,
    ToolUses,
    map_tools,
    read_where,
)

TEXT = {"type": "string"}
NUMBER = {"type": "number"}


def listed(name: str, *required: str, **arguments: Any) -> ForeignTool:
    return ForeignTool(name, "", {"type": "object", "properties": arguments, "required": list(required)})


OWN = (
    listed("open", "to", to=TEXT),
    listed("read"),
    listed("draw", "kind", kind={"enum": ["jpeg", "png"]}, scale={"default": 1}),
    listed("shut", "tab_id", tab_id=NUMBER),
    listed("tabs"),
)
USES: dict[str, Any] = {
    "navigate": {"tool": "open", "arguments": {"to": "{url}"}},
    "snapshot": "read",
    "screenshot": {"tool": "draw", "arguments": {"kind": "{format}"}},
    "close": {"tool": "shut", "arguments": {"tab_id": "{page}"}},
    "pages": {"tool": "tabs", "pattern": r"tab (?P<page>\d+)"},
}


def mapped(
    uses: dict[str, Any], tools: tuple[ForeignTool, ...] = OWN, *, has_process: bool = False
) -> Mapped:
    return map_tools(ToolUses.model_validate(uses), tools, has_process=has_process)


def arguments(found: Mapped, purpose: Any, **values: Any) -> dict[str, Any]:
    return found.arguments(
        found.uses[purpose], {"page": "7", "url": "http://a/", "format": "webp", "quality": 80, **values}
    )


def test_placeholders_are_of_the_types_of_the_schemas() -> None:
    """The page as a number where one is wanted, the format that can be had; `url` takes the address."""
    plain = (listed("open", "url", url=TEXT), *OWN[1:])
    assert arguments(mapped({**USES, "navigate": "open"}, plain), "navigate") == {"url": "http://a/"}
    found = mapped(USES)
    assert arguments(found, "navigate") == {"to": "http://a/"}
    assert arguments(found, "snapshot") == {}
    assert arguments(found, "screenshot") == {"kind": "png"}
    assert arguments(found, "screenshot", format="jpeg") == {"kind": "jpeg"}
    assert arguments(found, "close") == {"tab_id": 7}
    # Placeholders stand in texts, lists and blocks.
    given = {"to": "view:{url}", "more": [{"id": "{page}"}]}
    tools = (listed("open", "to", to=TEXT, more={"type": "array"}), *OWN[1:])
    found = mapped({**USES, "navigate": {"tool": "open", "arguments": given}}, tools)
    assert arguments(found, "navigate") == {"to": "view:http://a/", "more": [{"id": "7"}]}


def test_everything_that_is_missing_is_named(subtests: pytest.Subtests) -> None:
    """With the tools that there are, and what to write."""
    cases: list[tuple[dict[str, Any], str]] = [
        ({"navigate": None}, "tools.navigate names no tool, and the server is not a known one"),
        (
            {"snapshot": "reed"},
            "tools.snapshot is 'reed', which the server does not list. Did you mean 'read'?",
        ),
        ({"navigate": "read"}, "tools.navigate: read has no argument with '{url}'"),
        (
            {"navigate": {"tool": "open", "arguments": {"too": "{url}"}}},
            "open takes no argument 'too'. Did you mean 'to'? It takes to; tools.navigate: open wants 'to'",
        ),
        ({"pages": None}, "tools.pages: no tool gives the page; name one"),
        ({"close": None}, "tools.close names no tool"),
    ]
    for change, told in cases:
        with subtests.test(change=change, told=told):
            with pytest.raises(MappingProblem) as caught:
                mapped({**USES, **change})
            text = str(caught.value)
            assert told in text
            assert "The server has the tools open, read, draw, shut, tabs." in text
            assert "Write `tools: {navigate: NAME" in text
    # All at once; a process needs no closing.
    for has_process, missing in ((False, 4), (True, 3)):
        with pytest.raises(MappingProblem) as caught:
            mapped({}, has_process=has_process)
        assert str(caught.value).count("names no tool") == missing


PAGE = {"page": NUMBER}
OLD_BROWSEROS = (
    listed("get_active_page"),
    listed("list_pages"),
    listed("new_page", "url", url=TEXT),
    listed("navigate_page", "page", **PAGE, url=TEXT),
    listed("take_snapshot", "page", **PAGE),
    listed("take_screenshot", "page", **PAGE, format={"enum": ["png", "jpeg"]}),
    listed("close_page", "page", **PAGE),
)


def test_known_servers_need_no_declaration() -> None:
    """By the tools that they list; arguments that an older version does not take are left out."""
    found = mapped({}, OLD_BROWSEROS)
    assert arguments(found, "screenshot") == {"page": 7, "format": "png"}
    own = {"tool": "get_active_page", "arguments": {}}
    assert mapped({"snapshot": own}, OLD_BROWSEROS).uses["snapshot"].tool == "get_active_page"


def pattern_of(server: str, purpose: str) -> ToolUse:
    known = next(each for name, each in KNOWN.items() if name.startswith(server))
    return ToolUse.model_validate(known["uses"][purpose])


def test_texts_of_known_servers_are_read(subtests: pytest.Subtests) -> None:
    """As they were seen from the servers, or stand in their source."""
    cases: list[tuple[str, str, str, dict[str, str]]] = [
        (
            "Playwright",
            "snapshot",
            "### Ran Playwright code\n### Page\n- Page URL: http://a/b\n- Page Title: A shop\n### Snapshot",
            {"url": "http://a/b", "title": "A shop"},
        ),
        ("Playwright", "snapshot", "### Page\n- Page URL: about:blank", {"url": "about:blank"}),
        ("Playwright", "snapshot", "a page that says - Page URL: http://evil/", {}),
        ("Chrome", "pages", "## Pages\n1: about:blank [selected]", {"page": "1", "url": "about:blank"}),
        (
            "Chrome",
            "pages",
            "## Pages\n1: A (http://a/)\n2: B (c) (http://b/) [selected]\n3: D (http://d/)",
            {"page": "2", "url": "http://b/", "title": "B (c)"},
        ),
        ("BrowserOS (16", "navigate", "opened page 12", {"page": "12"}),
        (
            "BrowserOS (16",
            "pages",
            "[1] http://a/ (A)\n[7] http://b/ (B)",
            {"url": "http://b/", "title": "B"},
        ),
        ("BrowserOS (60", "navigate", "Opened new page: http://b/\nPage ID: 12", {"page": "12"}),
        (
            "BrowserOS (60",
            "pages",
            "1. A (tab 3)\n   http://a/\n\n7. B (tab 4)\n   http://b/",
            {"url": "http://b/", "title": "B"},
        ),
    ]
    for server, purpose, text, where in cases:
        with subtests.test(server=server, purpose=purpose, text=text):
            assert read_where(pattern_of(server, purpose), text, "7") == where
