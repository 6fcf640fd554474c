"""What tools say of pages happened: rows whose pages take, change, refuse or delay what is done to them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest

from pytest_browsereval.local_server import LocalHandler
from tests.features.files.conftest import act, said
from tests.hooks.small_evals import Evals
from tests.support import PageServer, serving


def test_a_download_is_in_the_result_of_its_click(evals: Evals, pages: PageServer) -> None:
    """However late the server answers: with the attribute nothing tells of it before."""
    pages.page("/bill", b"12345", headers={"Content-Disposition": "attachment; filename=bill.pdf"}, delay_s=1)
    url = pages.page("/bills", "<a href='/bill' download>bill</a>")
    run = evals.play([act("bill", url, {"tool": "click", "target": "text=bill"})], browser="playwright")
    assert run.ret == 0
    assert said(run)["bill"][0] == "Clicked text=bill. Downloaded file name 'bill.pdf' (5 bytes)."


@pytest.fixture
def slow_site() -> Iterator[str]:
    """Serve a file that takes longer than any call waits for it."""

    class Handler(LocalHandler):
        def do_GET(self) -> None:
            is_page = self.path == "/"
            body = b"<a href='/data.csv'>data</a>" if is_page else b"1,2"
            self.send_response(200)
            self.send_header("Content-Type", "text/html" if is_page else "text/csv")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body[:2])
            self.wfile.flush()
            time.sleep(0 if is_page else 6)
            self.wfile.write(body[2:])

    with serving(Handler) as url:
        yield url


@pytest.mark.slow
def test_a_download_that_ends_after_the_last_call_is_recorded(evals: Evals, slow_site: str) -> None:
    """It is waited for before grading."""
    click = {"tool": "click", "target": "text=data"}
    run = evals.play([act("data", f"{slow_site}/", click)], browser="playwright")
    assert run.ret == 0
    assert said(run)["data"] == [
        "Clicked text=data. The download of 'data.csv' is not complete yet.",
        "The task is over.",
        "After the last call: Downloaded file name 'data.csv' (3 bytes).",
    ]


MAP = """<div id=map style='width:300px;height:300px;background:#eee'></div><script>
let isBegun, isLost, drags = 0;
map.onpointerdown = () => { isBegun = isLost = false; requestAnimationFrame(() => { isBegun = true; }); };
map.onpointermove = () => { isLost ||= !isBegun; };
map.onpointerup = () => { drags += isBegun && !isLost; };
</script>"""
"""A map whose drag begins in the frame after the press, and is lost if the pointer moves before."""


@pytest.mark.slow
def test_a_drag_takes_the_time_that_pages_need(evals: Evals, pages: PageServer) -> None:
    """Each of four drags moves a map whose drag begins a frame after the press."""
    url = pages.page("/map", MAP)
    drag = {"tool": "drag_at", "start_x": 100, "start_y": 100, "end_x": 200, "end_y": 100}
    check = {"js": "drags", "equals": 4}
    rows = [act("map", url, *[drag] * 4, graders=["page_state"], checks=[check])]
    run = evals.play(rows, browser="playwright", tools={"pointer": True})
    assert run.ret == 0, run.stdout.str()


SPA = """<!doctype html><title>Spa</title><img src='/never.png'>
<button onclick="history.pushState({}, '', '?' + Math.random())">next</button>"""


@pytest.mark.slow
def test_a_page_that_routes_itself_is_waited_for_once(evals: Evals, pages: PageServer) -> None:
    """A picture that never comes holds up the first call alone, and the agent is told of it once."""
    pages.page("/never.png", b"", delay_s=15)
    url = pages.page("/spa", SPA)
    click = {"tool": "click", "target": "button"}
    run = evals.play([act("spa", url, *[click] * 12)], browser="playwright")
    assert run.ret == 0
    told = [f"The page is still loading: {pages.url}/never.png." in one for one in said(run)["spa"]]
    assert told == [True] + [False] * 12


DATE = "<label>Day <input type=date></label>"
WRONG: dict[str, tuple[str, dict[str, Any], str]] = {
    "fill": (DATE, {"target": "label=Day", "text": "4 March 2026"}, "takes a date such as 2026-03-04"),
    "check": ("<input type=checkbox onclick='return false'>", {"target": "input"}, "is not checked"),
    "drag": ("<p>a</p><b>b</b>", {"source": "p", "target": "b"}, "nothing on the page has moved"),
    "type_keys": ("<input autofocus maxlength=1>", {"text": "ab", "clear": True}, "holds 'a' now"),
}
"""A page that does not take what a tool does to it, and what the attempt says of it."""


@pytest.mark.slow
def test_no_tool_says_ok_for_what_did_not_happen(evals: Evals, pages: PageServer) -> None:
    """The step of a solution fails, and with it the row, though its answer is right."""
    rows = []
    for tool, (body, arguments, _) in WRONG.items():
        url = pages.page(f"/{tool}", f"<!doctype html>{body}")
        rows.append(act(tool, url, {"tool": tool, **arguments}))
    run = evals.play(rows, browser="playwright", tools={"pointer": True})
    assert run.ret == 1
    for tool, (_, _, why) in WRONG.items():
        attempt = run.attempt(tool)
        assert str(attempt.verdict) == "failed", tool
        assert any(f"failed: {tool}: " in error.message and why in error.message for error in attempt.errors)
