"""The state_diff grader."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from pytest_browsereval.browsers.playwright.windows import PlaywrightWindow
from pytest_browsereval.errors import ErrorSource, Fault
from pytest_browsereval.graders.state_diff import StateDiffGrader
from pytest_browsereval.model.grades import GraderResult, Verdict
from tests.graders.support import Live, Site, make_recorded, make_task

STATE = {
    "cart": [{"id": "mug", "quantity": 2, "price": "$12.50"}],
    "user": {"name": "Ada", "newsletter": False},
    "orders": [],
    "coupon": None,
}
SHOP = f"""<!doctype html><script>window.app = {json.dumps(STATE)};
localStorage.shop = JSON.stringify(app); document.cookie = 'who=ada';</script>"""


def grade_state(state: Any, *checks: dict[str, Any], **options: Any) -> GraderResult:
    grader = StateDiffGrader(**{"source": {"js": "app"}, **options})
    task = make_task(checks=checks)
    grader.check(task, Path())
    return asyncio.run(grader.grade(make_recorded(task, evidence={grader.label: {"state": state}})))


def attempt(live: Live, url: str, source: dict[str, str], *checks: dict[str, Any]) -> GraderResult:
    """Read the state of a real page, take it through JSON as the run folder does, and grade it."""
    grader, task = StateDiffGrader(source=source, wait_s=0), make_task(start_url=url, checks=checks)

    async def course(window: PlaywrightWindow) -> Any:
        return await grader.observe(window, task, {})

    evidence = json.loads(json.dumps({grader.label: live.run(url, course, sets_cookies=True)}))
    return live.runner.run(grader.grade(make_recorded(task, evidence=evidence)))


def test_every_source(live: Live, site: Site) -> None:
    """The state is read from the page, from its storage or from the site, with the same grade."""
    site.pages["/"] = SHOP
    site.pages["/api/state"] = (200, "application/json", json.dumps(STATE))
    sources = [{"js": "app"}, {"js": "() => app"}, {"storage": "local:shop"}]
    for source in (*sources, {"url": f"{site.url}/api/state"}):
        right = attempt(live, site.url, source, {"path": "cart[0].quantity", "equals": 2})
        wrong = attempt(live, site.url, source, {"path": "cart[0].quantity", "equals": 3})
        assert (right.verdict, right.score) == (Verdict.PASSED, 1.0)
        assert (wrong.verdict, wrong.score) == (Verdict.FAILED, 0.0)
    assert site.cookies[-1] == "who=ada"


def test_an_agent_that_did_nothing_fails(live: Live, site: Site) -> None:
    """A storage that was never written is the state null: a failure, not a fault."""
    site.pages["/"] = "nothing"
    result = attempt(live, site.url, {"storage": "local:shop"}, {"path": "cart[0].id", "equals": "mug"})
    assert (result.verdict, result.score) == (Verdict.FAILED, 0.0)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ({"js": "missing.app"}, "gives no state: it threw ReferenceError: missing is not defined"),
        ({"js": "window"}, "gives no state: "),
        ({"url": "{site}/api/none"}, "gives no state: .* answers with status 404"),
        ({"url": "{site}/html"}, "gives no state: .* is not JSON"),
        ({"url": "http://127.0.0.1:1/"}, "http://127.0.0.1:1/ cannot be read"),
    ],
)
def test_a_source_that_gives_no_state_is_a_fault(
    live: Live, site: Site, source: dict[str, str], message: str
) -> None:
    """A state that cannot be read makes the grade errored, never 0."""
    site.pages["/"] = site.pages["/html"] = SHOP
    given = {key: value.replace("{site}", site.url) for key, value in source.items()}
    with pytest.raises(Fault, match=message) as fault:
        attempt(live, site.url, given, {"path": "cart", "exists": True})
    assert fault.value.source is ErrorSource.GRADER


def test_a_state_that_comes_late_is_waited_for(live: Live, site: Site) -> None:
    """What the last click stores a moment later still counts."""
    site.pages["/"] = "<script>setTimeout(() => { localStorage.n = 1 }, 400)</script>"
    task = make_task(start_url=site.url, checks=[{"path": "@", "equals": 1}])
    grader = StateDiffGrader(source={"storage": "local:n"}, wait_s=10)
    seen = live.run(site.url, lambda window: grader.observe(window, task, {}))
    assert seen == {"state": 1}


def test_partial_credit() -> None:
    """The score is the weighted share of the checks that hold, with a reason for each that does not."""
    result = grade_state(
        STATE,
        {"path": "user.name", "equals": "Ada", "weight": 3},
        {"path": "user.newsletter", "equals": True},
        {"path": "orders[0].total", "number": 25},
        {"path": "cart[0].price", "number": 12.5},
    )
    assert result.verdict is Verdict.FAILED
    assert result.score == pytest.approx(4 / 6)
    assert result.reasoning == (
        "2 of 4 checks passed (strict mode); user.newsletter: it is false, not true; "
        "orders[0].total: there is no value where number 25 is expected"
    )
    assert [(c.name, c.verdict, c.expected, c.actual) for c in result.criteria][1] == (
        "user.newsletter",
        Verdict.FAILED,
        True,
        False,
    )


def test_paths_that_lead_nowhere() -> None:
    """What is missing is null, and can be expected to be missing."""
    held = grade_state(
        STATE,
        {"path": "user.email", "exists": False},
        {"path": "coupon", "exists": False},
        {"path": "orders", "exists": True},
        {"path": "orders[0]", "equals": None},
    )
    assert held.verdict is Verdict.PASSED
    result = grade_state(STATE, {"path": "length(coupon)", "min": 1})
    assert result.verdict is Verdict.FAILED
    assert "length()" in result.criteria[0].reason


LOOSE = ({"path": "user.name", "equals": "ada "}, {"path": "cart[0].quantity", "equals": "2"})


def test_both_readings_are_reported_and_one_decides() -> None:
    """Strict and lenient scores stand side by side; the mode says which one makes the verdict."""
    strict, lenient = grade_state(STATE, *LOOSE), grade_state(STATE, *LOOSE, mode="lenient")
    assert (strict.verdict, strict.score) == (Verdict.FAILED, 0.0)
    assert (lenient.verdict, lenient.score) == (Verdict.PASSED, 1.0)
    for result in (strict, lenient):
        assert (result.details["strict_score"], result.details["lenient_score"]) == (0.0, 1.0)


def test_pass_at() -> None:
    """Less than all checks are enough where the block says so."""
    checks = ({"path": "user.name", "equals": "Ada"}, {"path": "orders[0]", "exists": True})
    assert grade_state(STATE, *checks, pass_at=0.5).verdict is Verdict.PASSED
    assert grade_state(STATE, *checks, pass_at=0.51).verdict is Verdict.FAILED
    tenths = [{"path": "user.name", "equals": "Ada", "weight": 0.1}] * 10
    assert grade_state(STATE, *tenths).score == 1


def test_checks_of_the_block_and_of_other_graders() -> None:
    """The block's checks come first; checks of the page are left alone."""
    result = grade_state(
        STATE,
        {"path": "orders", "exists": True},
        {"title": "Cart"},
        {"storage": "local:shop", "path": "cart", "exists": True},
        checks=[{"path": "user.name", "equals": "Ada"}],
    )
    assert [criterion.name for criterion in result.criteria] == ["user.name", "orders"]


def test_missing_evidence_is_a_fault() -> None:
    """An attempt whose state was never read cannot be graded."""
    grader = StateDiffGrader(source={"js": "app"}, checks=({"path": "a", "exists": True},))
    with pytest.raises(Fault, match="the state was not read"):
        asyncio.run(grader.grade(make_recorded(make_task())))


def test_wrong_checks_are_refused(subtests: pytest.Subtests) -> None:
    """A check that is not well formed is refused before anything is spent."""
    cases: list[tuple[list[dict[str, Any]], str]] = [
        ([], "has nothing to check. Give the row checks"),
        ([{"title": "a"}], "has nothing to check"),
        ([{"pth": "a", "equals": 1}], "write a JMESPath expression"),
        ([{"path": "a["}], r"'a\[' is not a JMESPath expression"),
        ([{"path": "(" * 5_000}], r"is not a JMESPath expression(?s:.)*cart\.items\[0\]\.name"),
        ([{"path": "", "exists": True}], "write a JMESPath expression"),
        ([{"path": 5, "exists": True}], "has the path 5"),
        ([{"path": "a"}], "has 0 comparisons"),
        ([{"path": "a", "equal": 1}], r"Did you mean 'equals'\?"),
        ([{"path": "a", "equals": 1, "wieght": 2}], r"Did you mean 'weight'\?"),
        ([{"path": "a", "equals": 1, "weight": -2}], "'weight' is -2"),
    ]
    for checks, message in cases:
        with subtests.test(checks=checks, message=message), pytest.raises(ValueError, match=message):
            StateDiffGrader(source={"js": "app"}).check(make_task(checks=checks), Path())


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ({}, "the source has 0 of the keys js, storage, url. Write exactly one"),
        ({"js": "a", "url": "b"}, "the source has 2 of the keys"),
        ({"storage": "shop"}, "the storage 'shop' is unknown; write local:KEY"),
        ({"file": "a"}, "Extra inputs are not permitted"),
    ],
)
def test_wrong_sources_are_refused(source: dict[str, str], message: str) -> None:
    """A source is exactly one of the known ones."""
    with pytest.raises(ValidationError, match=message):
        StateDiffGrader(source=source)
