"""Runs in a browser behind a server that names its tools with dots and tells of no page that broke."""

from __future__ import annotations

from typing import Any

from tests.features.files.conftest import said
from tests.features.mcp_browser import odd
from tests.hooks.small_evals import Evals, row

BROWSER: dict[str, Any] = {
    "type": "mcp",
    "command": [*odd.PROGRAM, "dotted"],
    "tools": {
        "navigate": {"tool": "web.go", "pattern": r"^At (?P<url>\S+)"},
        "snapshot": "web.look",
        "screenshot": "web.draw",
        "address": {"tool": "web.run", "arguments": {"code": "{script}"}},
    },
}
START = "http://shop.test/start"


def test_names_pages_and_texts_of_a_server(evals: Evals) -> None:
    """A dot is offered as a line, no name twice; the page tells that it broke; half a character is none."""
    ways: dict[str, tuple[str, list[dict[str, Any]], str, str | None]] = {
        "half": (START, [{"tool": "web_half"}], "failed", None),
        "named": (START, [{"tool": "web_look_2"}], "failed", None),
        "clicked": (START, [{"tool": "web_look"}], "errored", "site"),
        "composed": (START, [{"tool": "web_go", "url": "http://shop.test/boom"}], "failed", None),
        "gone": ("http://shop.test/gone", [], "errored", "navigation"),
        "broken": ("http://shop.test/boom", [], "errored", "site"),
    }
    done = {"tool": "done", "answer": "wrong"}
    rows = (row(name, start_url=way[0], solution=[*way[1], done]) for name, way in ways.items())
    ran = evals.play(rows, browser=BROWSER)
    assert ran.ret == 1
    found = {one.query_id: (str(one.verdict), one.error_source) for one in ran.attempts}
    assert found == {name: (verdict, source) for name, (_, _, verdict, source) in ways.items()}
    told = said(ran)
    assert (told["half"][0], told["named"][0]) == ("7.25 \ufffd", f"At {START}")
    assert any("answered HTTP 500" in one.message for one in ran.attempt("composed").warnings)
