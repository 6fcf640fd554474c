"""Whether a run is good enough, rule by rule."""

from __future__ import annotations

import pytest

from pytest_browsereval.analysis.gate import RuleResult, decide
from pytest_browsereval.analysis.summary import RunSummary
from pytest_browsereval.config import GateConfig
from tests.recorded import ERRORED, FAILED, PASSED, attempt, summary

MIXED = summary(
    attempt("a"), attempt("b"), attempt("c"), attempt("d", FAILED), attempt("e", ERRORED, reason="no page")
)


def rule(run: RunSummary, name: str, **gate: object) -> RuleResult:
    """Return one rule's result."""
    (found,) = [result for result in decide(run, GateConfig.model_validate(gate)) if result.name == name]
    return found


@pytest.mark.parametrize(
    ("floor", "is_met", "message"),
    [
        (0.75, True, "pass rate 75.0% (3/4) meets 75.0%"),
        (0.0, True, "pass rate 75.0% (3/4) meets 0.0%"),
        (0.76, False, "pass rate 75.0% (3/4) is under 76.0%"),
        (1.0, False, "pass rate 75.0% (3/4) is under 100.0%"),
    ],
)
def test_the_pass_rate_has_a_floor(floor: float, is_met: bool, message: str) -> None:  # noqa: FBT001
    """The rate of the judged trials must reach the floor; errored ones are not among them."""
    assert rule(MIXED, "min_pass_rate", min_pass_rate=floor) == RuleResult("min_pass_rate", is_met, message)


@pytest.mark.parametrize("run", [summary(), summary(attempt("a", ERRORED))], ids=["nothing", "errors only"])
def test_nothing_judged_meets_no_floor(run: RunSummary) -> None:
    """Where no trial was judged the pass rate is not met, at a floor of 0 neither."""
    result = rule(run, "min_pass_rate", min_pass_rate=0)
    assert (result.is_met, result.message) == (False, "no trial was judged, so there is no pass rate")


@pytest.mark.parametrize(
    ("query_id", "is_met", "message"),
    [
        ("a", True, "a passed"),
        ("d", False, "d failed: d failed"),
        ("e", False, "e errored: no page"),
        ("z", False, "z has no result in this run"),
    ],
)
def test_pinned_rows_have_to_pass(query_id: str, is_met: bool, message: str) -> None:  # noqa: FBT001
    """A pinned row that failed, errored or did not run breaks the gate, under a rule of its own."""
    name = f"must_pass[{query_id}]"
    assert rule(MIXED, name, must_pass=["a", query_id][query_id == "a" :]) == RuleResult(
        name, is_met, message
    )


def test_all_trials_of_a_pinned_row_have_to_pass() -> None:
    """One bad trial of several is enough."""
    run = summary(attempt("a", trial=1), attempt("a", FAILED, trial=2), attempt("a", trial=3))
    assert not rule(run, "must_pass[a]", must_pass=["a"]).is_met


def test_errors_have_a_ceiling() -> None:
    """Errored trials among all of them may reach the ceiling, which is 5 % by default, and not pass it."""
    assert rule(MIXED, "max_error_rate", max_error_rate=0.2) == RuleResult(
        "max_error_rate", is_met=True, message="error rate 20.0% (1/5) is within 20.0%"
    )
    assert rule(MIXED, "max_error_rate", min_pass_rate=0.5) == RuleResult(
        "max_error_rate", is_met=False, message="error rate 20.0% (1/5) is over 5.0%"
    )
    assert not rule(summary(), "max_error_rate", min_pass_rate=0.5).is_met


def test_rules_of_pinned_rows_are_named_like_their_items() -> None:
    """The rule of a row with an odd id has the name of the row's item, as it becomes part of a node id."""
    run = summary(attempt("a::b [1]"))
    result = rule(run, "must_pass[a+3a+3ab+20+5b1+5d]", must_pass=["a::b [1]"])
    assert (result.is_met, result.message) == (True, "a::b [1] passed")


def test_each_rule_that_is_set_has_a_result() -> None:
    """Rules come in a fixed order: floor, pinned rows in theirs, ceiling; what is not set is left out."""
    gate = GateConfig(min_pass_rate=0.5, must_pass=("b", "a"))
    names = [result.name for result in decide(MIXED, gate)]
    assert names == ["min_pass_rate", "must_pass[b]", "must_pass[a]", "max_error_rate"]
    assert [result.name for result in decide(MIXED, GateConfig())] == ["max_error_rate"]


def test_what_a_page_said_stays_on_one_line() -> None:
    """A pinned row's reason cannot break out of its line or steer the terminal."""
    run = summary(attempt("a", FAILED, reason="no\n\x1b[2Jgate met\u202e" + "x" * 500))
    message = rule(run, "must_pass[a]", must_pass=["a"]).message
    assert message.isprintable()
    assert len(message) < 250


def test_passing_marks_are_met() -> None:
    """A run without a bad trial meets every rule."""
    run = summary(attempt("a"), attempt("b", PASSED))
    gate = GateConfig(min_pass_rate=1, must_pass=("a", "b"), max_error_rate=0)
    assert all(result.is_met for result in decide(run, gate))
