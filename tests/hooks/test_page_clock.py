"""A row or a config says which time its pages see; timers run on from there."""

from __future__ import annotations

from typing import Any

import pytest

from tests.hooks.small_evals import Evals, row
from tests.support import PageServer

SHOWN = """<title>Clock</title><p id=now></p><p id=left>3</p><script>
const now = new Date();
document.getElementById('now').textContent = `${now.toISOString().slice(0, 13)} is ${now.getHours()} here`;
const left = document.getElementById('left');
const count = () => {
  left.textContent = --left.textContent || 'over';
  if (left.textContent > 0) setTimeout(count, 50);
};
setTimeout(count, 50);
</script>"""


def see(name: str, url: str, expected: str, **more: Any) -> dict[str, Any]:
    solution = [{"tool": "wait_for_text", "text": "over"}, {"tool": "done", "answer": "seen"}]
    checks = [{"text": expected}, {"text": "over"}]
    return row(name, start_url=url, graders=["page_state"], checks=checks, solution=solution, **more)


def test_pages_see_the_clock_of_their_row(evals: Evals, pages: PageServer) -> None:
    """In the page's zone unless it says one; what the page waits for comes, and the record has the moment."""
    url = pages.page("/clock", SHOWN)
    rows = [
        see("plain", url, "2026-03-01T08 is 9 here"),
        see("own", url, "2030-12-24T17 is 18 here", clock="2030-12-24T18:00"),
        see("kyoto", url, "2026-03-01T00 is 9 here", context={"timezone_id": "Asia/Tokyo"}),
        see("zoned", url, "2026-07-01T07 is 9 here", clock="2026-07-01T09:00+02:00"),
    ]
    context = {"timezone_id": "Europe/Berlin"}
    run = evals.play(rows, browser={"context": context}, clock="2026-03-01T09:00", lanes=2)
    run.assert_outcomes(passed=4)
    clocks = {one.query_id: one.conditions[-1] for one in run.attempts}
    assert clocks == {
        "plain": "clock=2026-03-01T09:00:00+01:00",
        "own": "clock=2030-12-24T18:00:00+01:00",
        "kyoto": "clock=2026-03-01T09:00:00+09:00",
        "zoned": "clock=2026-07-01T09:00:00+02:00",
    }


def test_a_clock_that_cannot_be_is_refused(evals: Evals, subtests: pytest.Subtests) -> None:
    """With its line, before the run: what is not a time, and a browser that takes none."""
    cases: list[tuple[dict[str, Any], dict[str, Any], str]] = [
        ({}, {"clock": "next monday"}, "*shop.eval.yaml:*: clock: 'next monday' is not a time. Write *"),
        ({"clock": 9}, {}, "*rows.jsonl:1: *clock: 9 is not a time. Write one such as 2026-03-01T09:00*"),
        ({"clock": "2026-03-01"}, {}, "*the browser 'blank' cannot set `clock`*"),
        ({}, {"clock": "2026-03-01"}, "*the browser 'blank' cannot set `clock`*"),
    ]
    for of_row, of_config, message in cases:
        with subtests.test(message=message):
            run = evals.play([row("a", **of_row)], **of_config)
            assert run.ret == 4
            run.stderr.fnmatch_lines([message])
