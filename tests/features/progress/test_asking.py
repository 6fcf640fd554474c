"""Asking a page while the agent works: nothing in it changes, and nothing goes wrong."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from pytest_browsereval.features.progress import following
from pytest_browsereval.features.progress.following import CheckFollower, make_follower
from pytest_browsereval.features.shared import page_reader
from pytest_browsereval.graders.page_state import PageStateGrader
from pytest_browsereval.model.progress import PROGRESS_FILE, Followed
from pytest_browsereval.model.tasks import Task
from tests.support import PageServer, Visit, Visits

BODY = """<p id=text>none</p>
<button onclick="document.getElementById('text').textContent = 'some'">go</button>
<script>
window.state = {items: [{n: 1}], get asked() { window.count = (window.count || 0) + 1; return 1; }};
</script>"""


def follow(opened: Visit, *checks: dict[str, Any], **row: Any) -> CheckFollower:
    """Follow what is done in a window."""
    task = Task(query_id="row", query="Do it.", **{"checks": checks, "start_url": opened.window.url, **row})
    made = make_follower(opened.capture, task, [PageStateGrader()])
    assert made is not None
    opened.capture.follower = made
    opened.run(opened.capture.ask_page(0))
    return made


def finish(opened: Visit, follower: CheckFollower) -> Followed:
    """End the attempt, and return what was written."""
    opened.run(opened.capture.final_picture())
    follower.finish()
    return Followed.parse((opened.capture.config.folder / PROGRESS_FILE).read_bytes())


@pytest.fixture(autouse=True)
def _is_asked_at_any_speed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine leaves no step out, and every page has time to answer."""
    monkeypatch.setattr(following, "SLOW_S", 1e9)
    monkeypatch.setattr(following, "LIMIT_S", 60.0)
    monkeypatch.setattr(page_reader, "LIMIT_S", 60.0)
    monkeypatch.setattr(page_reader, "EXPRESSION_LIMIT_MS", 60_000)


def test_expressions_that_could_change_the_page_are_left_out(visit: Visits) -> None:
    """The browser stops them before they do; pure ones are answered, whatever JSON they give."""
    opened = visit(BODY)
    follower = follow(
        opened,
        {"js": "document.querySelectorAll('button').length", "equals": 1},
        {"js": "({a: [1, {b: 2}]})", "path": "a[1].b", "equals": 2},
        {"js": "() => document.title", "equals": "Page"},
        {"js": "window.touched = true", "equals": True},
        {"js": "Promise.resolve(1)", "equals": 1},
        {"js": "(async () => 1)()", "equals": 1},
        {"js": "window.state", "path": "items[0].n", "equals": 1},
        {"js": "noSuchName", "equals": 1},
    )
    found = finish(opened, follower)
    asked = [one.name for one in found.checks if not one.left_out]
    held = dict(zip(asked, found.moments[-1].held, strict=True))
    assert [value for name, value in held.items() if name[:6] in ("js doc", "js ({a", "js () ")] == [True] * 3
    assert held["js noSuchName"] is False
    assert held["js window.state items[0].n"] is None, "a getter of the page would have counted"
    left_out = {one.name: one.left_out for one in found.checks if one.left_out}
    assert left_out["js window.touched = true"] == page_reader.CHANGES
    assert len(left_out) == 3
    assert opened.js("[window.touched ?? null, window.count ?? null]") == [None, None]


def test_an_expression_without_an_end_is_given_up(visit: Visits, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is unknown, the others are not, and the page goes on."""
    monkeypatch.setattr(page_reader, "EXPRESSION_LIMIT_MS", 20)
    opened = visit(BODY)
    found = finish(opened, follow(opened, {"js": "for (;;) {}", "equals": 1}, {"text": "none"}))
    assert found.moments[-1].held == (None, True)


def test_all_kinds_are_asked_and_their_worlds_follow_the_page(visit: Visits, pages: PageServer) -> None:
    """A role, a text, an address, a title, a stored value; also on the next page and after a reload."""
    pages.page("/next", "<!doctype html><title>Next</title><h1>There</h1>")
    opened = visit(BODY)
    next_page = opened.window.url.replace("/page", "/next")
    follower = follow(
        opened,
        {"role": "heading", "name": "There"},
        {"text": "There"},
        {"url": {"contains": "next"}},
        {"title": "Next"},
        {"storage": "session:seen", "equals": 1},
    )
    opened.output("navigate", url=next_page)
    opened.run(opened.window.page.evaluate("sessionStorage.seen = 1"))
    opened.output("reload")
    found = finish(opened, follower)
    assert [sum(map(bool, one.held)) for one in found.moments] == [0, 4, 5, 5]


def test_a_page_that_is_gone_leaves_a_gap(visit: Visits) -> None:
    """Closed before or while it is asked, it is noted; nothing is reopened and nothing is raised."""
    opened = visit(BODY)
    follower = follow(opened, {"text": "some"})
    opened.output("click", target="button")

    async def close_meanwhile() -> None:
        await asyncio.gather(opened.capture.ask_page(2), opened.window.page.close())

    opened.run(close_meanwhile())
    opened.run(opened.capture.ask_page(3))
    found = finish(opened, follower)
    assert [one.held for one in found.moments[:2]] == [(False,), (True,)]
    assert found.moments[-1].note == "no page was open"
    assert opened.window.tab_id == 0


def test_a_fault_in_asking_is_told_once(visit: Visits, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is a warning, and the attempt has no figures."""
    opened = visit(BODY)

    async def broken(_: object) -> None:
        raise RuntimeError("broken here")

    monkeypatch.setattr(page_reader.PageReader, "read", broken)
    follower = follow(opened, {"text": "some"})
    opened.output("click", target="button")
    finish(opened, follower)
    assert follower.finish() is None
    (warning,) = opened.capture.warnings
    assert "checks could not be evaluated during the attempt" in warning.message
