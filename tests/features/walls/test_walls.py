"""An attempt that ends on a wall of its site does not fail for it: errored (site), with what the wall is."""

from __future__ import annotations

from typing import Any

import pytest

from tests.hooks.small_evals import Evals, row
from tests.support import PageServer

pytestmark = pytest.mark.slow

PAGES = {
    "check": "Just a moment...",
    "back": "We\u2019ll be back soon!",
    "expired": "Your session has expired",
    "queue": "Waiting room 7",
    "shop": "Shop",
    "denied": "Access denied",
    "repairs": "Maintenance",
}


def test_an_attempt_that_ends_on_a_wall_is_errored(evals: Evals, subtests: pytest.Subtests) -> None:
    """By the title of the page, also one that the config adds; a page of the app is none; a pass stays."""
    site = evals.path / "site"
    site.mkdir()
    for name, title in PAGES.items():
        (site / f"{name}.html").write_text(f"<!doctype html><title>{title}</title><h1>{title}</h1>")
    server, click = PageServer(), {"tool": "click", "target": "text=Buy"}
    server.page("/", '<a href="/buy">Buy</a>')
    server.page("/buy", "<title>Just a moment...</title>", status=403)
    evals.write(
        [
            *(row(name, says="wrong", start_url=f"{{site}}/{name}.html") for name in PAGES),
            row("passes", start_url="{site}/check.html"),
            row("refused", start_url=f"{server.url}/", solution=[click, {"tool": "done", "answer": "wrong"}]),
        ],
        browser="playwright",
        sites={"site": {"static": "site"}},
        walls=[{"name": "a queue", "title": "waiting room*", "url": "*/queue.html"}],
    )
    run = evals.run("shop.eval.yaml")
    server.close()
    found: dict[str, tuple[str, Any]] = {
        one.query_id: (str(one.verdict), one.reason.partition("it is ")[2].partition(":")[0])
        for one in run.attempts
    }
    assert found == {
        "check": ("errored", "a bot check"),
        "back": ("errored", "a maintenance page"),
        "expired": ("errored", "a login that has expired"),
        "queue": ("errored", "a queue"),
        "shop": ("failed", ""),
        "denied": ("failed", ""),
        "repairs": ("failed", ""),
        "passes": ("passed", ""),
        "refused": ("errored", "a bot check"),
    }
    assert all(
        one.error_source == "site" and one.warnings for one in run.attempts if one.verdict == "errored"
    )
