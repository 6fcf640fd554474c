"""Checks of the way: regraded, under attack, with workers, in a browser that runs already."""

from __future__ import annotations

import json

import pytest

from pytest_browsereval.features.shared.viewer.records import records_of
from tests.browsers.listening import Listening
from tests.features.way_checks.conftest import Shop

ORDER = {"method": "POST", "url": "{shop}/api/orders"}
MUG = {"request": {**ORDER, "json": {"path": "items[0].id", "equals": "mug"}}}
CUP = {"request": {**ORDER, "json": {"path": "items[0].id", "equals": "cup"}}}


def test_a_corrected_check_is_graded_again(shop: Shop) -> None:
    """By all requests that the run has seen; what is not recorded, or lost, errs, with `not` too."""
    no_admin = {"visited": "{shop}/admin", "not": True}
    shop.play(
        shop.row("order", "Order a mug", checks=[CUP]),
        shop.row("plain", "Order a mug", checks=[{"title": "Shop"}]),
    ).assert_outcomes(passed=1, failed=1)
    folder = shop.evals.run_folder()
    shop.evals.write_rows(
        shop.row("order", checks=[MUG, no_admin, {"called": "click", "count": 1}]),
        shop.row("plain", checks=[no_admin]),
    )
    again = (f"--eval-regrade={folder}", "--eval-regrade-rows=current")
    run = shop.evals.run("shop.eval.yaml", *again)
    run.assert_outcomes(passed=1, errors=1)
    assert "not visited" in run.attempt("plain").reason
    assert "was not observed: nothing was recorded" in run.attempt("plain").reason
    next(folder.glob("tasks/order/**/evidence.json")).unlink()
    assert shop.evals.run("shop.eval.yaml", *again).attempt("order").verdict == "errored"


def test_requests_are_wherever_attempts_are_shown(shop: Shop) -> None:
    """In the JSON for programs, in `Recorded`, in the record, and on the attempt's page."""
    (shop.evals.path / "verify.py").write_text(
        "import json, sys; sent = json.load(open(sys.argv[-1]))['requests'] or []\n"
        "sent = [[one['method'], one['status'], one['body']] for one in sent if '/api/' in one['url']]\n"
        "print(json.dumps({'pass': True, 'reasoning': json.dumps(sent)}))"
    )
    graders = [{"type": "command", "command": ["{python}", "verify.py"]}, {"type": "page_state"}]
    link = {
        "tool": "evaluate",
        "expression": "() => { const a = document.createElement('a'); a.download = ''; "
        "a.href = '/file'; a.click(); }",
    }
    run = shop.play(
        shop.row("order", "Order a mug", link, checks=[MUG]),
        shop.row("plain", "Order a mug", checks=[{"title": "Shop"}]),
        graders=graders,
        tools={"scripting": True},
    )
    run.assert_outcomes(passed=2)
    order, plain = run.attempt("order"), run.attempt("plain")
    body = '{"items":[{"id":"mug","quantity":2}]}'
    assert json.loads(order.grader_results["command"].reasoning) == [["POST", 201, body]]
    assert json.loads(plain.grader_results["command"].reasoning) == []
    assert plain.page_request_count is None
    (folder,) = run.folder.glob("tasks/order/**/attempt-1")
    shown = records_of(str(folder), ["evidence.json"], [])["har"]
    assert len(shown) == order.page_request_count
    assert [one[1:3] for one in shown if one[3].endswith(("/", "/api/orders", "/file"))] == [
        ["GET", 200],
        ["POST", 201],
        ["GET", None],
    ]


def test_requests_are_known_to_the_parts_of_a_grader_and_through_it(shop: Shop) -> None:
    """A program sees them where it or the check is inside of `combined`, and the record counts them."""
    (shop.evals.path / "verify.py").write_text(
        "import json, sys; sent = json.load(open(sys.argv[-1]))['requests'] or []\n"
        "print(json.dumps({'pass': any('/api/' in one['url'] for one in sent), 'reasoning': 'read'}))"
    )
    program, check = {"type": "command", "command": ["{python}", "verify.py"]}, {"type": "page_state"}
    for parts, others in (([check, {**check, "name": "b"}], [program]), ([check, program], [])):
        row = shop.row("order", "Order a mug", checks=[MUG])
        run = shop.play(row, graders=[{"type": "combined", "graders": parts}, *others])
        run.assert_outcomes(passed=1)
        assert run.attempt("order").page_request_count


@pytest.mark.slow
def test_workers_and_lanes_tell_attempts_apart(shop: Shop) -> None:
    """Each attempt has its own requests, whoever shares its browser."""
    once = {"request": {**ORDER, "count": 1}}
    rows = [shop.row(f"row-{n}", "Order a mug", checks=[once, MUG]) for n in range(6)]
    run = shop.play(*rows, args=("-n", "2"), lanes=2)
    run.assert_outcomes(passed=6)


@pytest.mark.slow
@pytest.mark.parametrize("sessions", ["isolated", "shared"])
def test_a_browser_that_runs_already_is_recorded(shop: Shop, chromium: Listening, sessions: str) -> None:
    """Requests of the attempt's pages, pop-ups too; in a shared context as well."""
    checks = [MUG, {"visited": "**/popup", "count": 1}, {"request": {"url": "{shop}/popup", "count": 1}}]
    browser = {"type": "cdp", "url": chromium.url, "sessions": sessions}
    shop.play(shop.row("order", "Order a mug", "Open", checks=checks), browser=browser).assert_outcomes(
        passed=1
    )


@pytest.mark.slow
def test_traffic_that_cannot_be_recorded_is_refused(shop: Shop, chromium: Listening) -> None:
    """A grader of `network.har` needs a context of the attempt's own: file, line and what to write."""
    done = {"task_type": "mutate", "status": "SUCCESS", "retrieved_data": None}
    said = {"evaluator": "AgentResponseEvaluator", "results_schema": {"type": "null"}, "expected": done}
    sent = {"evaluator": "NetworkEventEvaluator", "expected": {"url": "http://shop.test/"}}
    row = shop.row("one", checks=[], graders=["webarena_verified"], evals=[said, sent])
    run = shop.play(row, browser={"type": "cdp", "url": chromium.url, "sessions": "shared"})
    assert run.ret == 4
    run.stderr.fnmatch_lines(["*rows.jsonl:1*'webarena_verified'*attempts that share*sessions: isolated*"])
