"""How grades become a verdict."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from pytest_browsereval.errors import ErrorSource
from pytest_browsereval.graders.verdicts import PassWhen, Primary, check_pass_when, combine
from pytest_browsereval.model.grades import GraderResult, Verdict

P, F, E = Verdict.PASSED, Verdict.FAILED, Verdict.ERRORED
SCORES = {P: 1.0, F: 0.0, E: None}


def grades(*verdicts: Verdict) -> dict[str, GraderResult]:
    return {
        f"g{n}": GraderResult(grader=f"g{n}", verdict=v, score=SCORES[v], reasoning=f"reason {n}\nmore")
        for n, v in enumerate(verdicts)
    }


TABLE = [
    # grades, all, any, majority
    ((P,), P, P, P),
    ((F,), F, F, F),
    ((P, P), P, P, P),
    ((P, F), F, P, F),
    ((F, F), F, F, F),
    ((P, P, P), P, P, P),
    ((P, P, F), F, P, P),
    ((P, F, F), F, P, F),
    ((F, F, F), F, F, F),
]


def test_every_combination_of_up_to_three_grades(subtests: pytest.Subtests) -> None:
    """Every combination of up to three grades has the verdict of the table, in whatever order it comes."""
    for given, when_all, when_any, when_majority in TABLE:
        with subtests.test(given=given):
            for order in set(itertools.permutations(given)):
                assert combine(grades(*order), "all")[0] is when_all
                assert combine(grades(*order), "any")[0] is when_any
                assert combine(grades(*order), "majority")[0] is when_majority


def test_an_errored_grade_never_decides(subtests: pytest.Subtests) -> None:
    """The verdict is errored exactly where the errored grades, once known, could still turn it."""
    cases: list[Any] = ["all", "any", "majority"]
    for rule in cases:
        for count in [1, 2, 3, 4, 5]:
            with subtests.test(rule=rule, count=count):
                for verdicts in itertools.product((P, F, E), repeat=count):
                    choices = [(P, F) if verdict is E else (verdict,) for verdict in verdicts]
                    possible = {combine(grades(*filled), rule)[0] for filled in itertools.product(*choices)}
                    expected = possible.pop() if len(possible) == 1 else E
                    assert combine(grades(*verdicts), rule)[0] is expected


def test_a_grade_that_vetoes_decides_unless_it_passes(subtests: pytest.Subtests) -> None:
    """Where it errs, nothing is known of the attempt, whatever the others say."""
    cases: list[Any] = ["all", "any", Primary(primary="g0")]
    others: list[Verdict] = [P, F, E]
    for rule in cases:
        for own in others:
            with subtests.test(rule=rule, own=own):
                for veto in (P, F, E):
                    given = grades(own, veto)
                    given["g1"] = given["g1"].model_copy(update={"vetoes": True})
                    wanted = {P: own, F: F, E: E}[veto]
                    assert combine(given, rule)[0] is wanted


@pytest.mark.parametrize("verdict", [P, F, E])
def test_the_primary_grader_decides_alone(verdict: Verdict) -> None:
    """With a primary grader the others are not asked."""
    given = grades(F if verdict is P else P, verdict, E)
    assert combine(given, Primary(primary="g1"))[0] is verdict


def test_no_grades_are_a_fault_of_the_harness() -> None:
    """Without any grade, or without the primary one, the attempt is errored by the harness."""
    assert combine({}, "any")[:2] == (E, ErrorSource.HARNESS)
    verdict, source, reason = combine(grades(P), Primary(primary="answer"))
    assert (verdict, source) == (E, ErrorSource.HARNESS)
    assert "'answer'" in reason


def test_the_reason_names_grader_and_first_line() -> None:
    """The reason has the name and the first line of a grade that made the verdict, and counts the rest."""
    assert combine(grades(P, F, F), "all") == (F, None, "g1: reason 1 (and 1 more)")
    assert combine(grades(P, E), "all") == (E, ErrorSource.GRADER, "g1: reason 1")
    assert combine(grades(P, F), "any") == (P, None, "1 of 2 graders passed: g0")
    silent = {"mine": GraderResult(grader="mine", verdict=F, score=0.0)}
    assert combine(silent, "all")[2] == "mine: no reason given"


def test_a_veto_comes_first_in_the_reason() -> None:
    """What it has found is not hidden by a grade that failed as well."""
    given = grades(F, F, F)
    given["g2"] = given["g2"].model_copy(update={"vetoes": True})
    assert combine(given, "all")[2] == "g2: reason 2; g0: reason 0 (and 1 more)"
    given |= grades(P, P)
    assert combine(given, "all")[2] == "g2: reason 2"


def test_pass_when_is_read_from_a_config() -> None:
    """A config may name the rule as a word, as a block or as one text."""
    adapter: TypeAdapter[Any] = TypeAdapter(PassWhen)
    assert adapter.validate_python("majority") == "majority"
    assert adapter.validate_python({"primary": "answer"}) == Primary(primary="answer")
    assert adapter.validate_python("primary: answer") == Primary(primary="answer")
    assert adapter.validate_json(adapter.dump_json(Primary(primary="x"))) == Primary(primary="x")
    with pytest.raises(ValidationError):
        adapter.validate_python("most")


def test_a_primary_grader_that_a_row_lacks_is_refused() -> None:
    """The message names the nearest grader and all that the row has."""
    check_pass_when(Primary(primary="answer"), ["answer"])
    with pytest.raises(ValueError, match=r"'anser'.* Did you mean 'answer'\? Its graders: answer, judge"):
        check_pass_when(Primary(primary="anser"), ["answer", "judge"])


def test_a_row_whose_graders_are_all_advisory_is_refused() -> None:
    """None of them decides, whatever the rule."""
    with pytest.raises(ValueError, match="all graders of the row are advisory"):
        check_pass_when("any", [])


@pytest.mark.parametrize("rule", ["all", "any", "majority"])
def test_advisory_grades_do_not_decide(rule: PassWhen) -> None:
    """Neither a failed nor an errored one; without any other there is no verdict."""
    advisory = {
        "doubtful": GraderResult(grader="doubtful", verdict=Verdict.FAILED, score=0, advisory=True),
        "broken": GraderResult(grader="broken", verdict=Verdict.ERRORED, advisory=True),
    }
    sure = GraderResult(grader="sure", verdict=Verdict.PASSED, score=1)
    assert combine({**advisory, "sure": sure}, rule)[0] is Verdict.PASSED
    assert combine(advisory, rule)[:2] == (Verdict.ERRORED, ErrorSource.HARNESS)
