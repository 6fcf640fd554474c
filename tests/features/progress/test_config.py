"""What is checked before a run that follows its attempts, and the rule about them."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_browsereval.features.progress.rule import MinProgressRule
from pytest_browsereval.model.grades import Verdict
from pytest_browsereval.model.progress import Progress
from pytest_browsereval.runs.attempt import StoredAttempt
from tests.hooks.small_evals import Evals, row
from tests.recorded import attempt, stored

RULE = {"type": "min_progress", "least": 0.5}
PLAYWRIGHT = {"browser": "playwright"}


def test_a_gate_about_progress_needs_it_to_be_recorded(evals: Evals) -> None:
    """Else the run is refused, with the key to write."""
    evals.write_rows(row("a"))
    evals.write_config(gate={"rules": [RULE]})
    run = evals.run()
    assert run.ret == pytest.ExitCode.USAGE_ERROR
    assert "gate.rules.0: the rule needs the progress of attempts" in run.stderr.str()
    assert "Write `capture: {checks: each}`" in run.stderr.str()
    assert run.folders == ()


def test_what_cannot_be_asked_is_refused(evals: Evals) -> None:
    """A browser without pages, or a session without the feature, is an error of usage."""
    evals.write_rows(row("a"))
    for browser, args, why in (
        ({}, (), "capture.checks: capture.checks is on, and"),
        (PLAYWRIGHT, ("-p", "no:browsereval.progress"), "the feature that acts on this key is left out"),
    ):
        evals.write_config(capture={"checks": "each"}, **browser)
        run = evals.run("shop.eval.yaml", *args)
        assert run.ret == pytest.ExitCode.USAGE_ERROR
        assert why in run.stderr.str()


def test_milestones_are_checked_before_the_run(evals: Evals, subtests: pytest.Subtests) -> None:
    """A wrong one is an error of its row, with file and line, whether they are asked or not."""
    cases: list[tuple[list[dict[str, Any]], str]] = [
        ([{"name": "a", "check": {"txt": "x"}}], "the milestone 'a': the check"),
        ([{"name": "a", "check": {"title": "x"}}] * 2, "two milestones are named 'a'"),
        ([{"name": "a"}], "milestones.0.check"),
        ([{"name": "a", "check": {"url": "{shop}/"}}], "'shop' is not a site"),
    ]
    evals.write_config()
    for milestones, why in cases:
        with subtests.test(why):
            evals.write_rows(row("a"), row("b", milestones=milestones))
            run = evals.run()
            assert run.ret == pytest.ExitCode.USAGE_ERROR
            assert "rows.jsonl:2: " in run.stderr.str()
            assert why in run.stderr.str()


def of(share: float | None, verdict: Verdict = Verdict.FAILED) -> StoredAttempt:
    """Return an attempt that came so far."""
    progress = None if share is None else Progress(checks=2, best=share)
    return stored(attempt("a", verdict, progress=progress))


def test_the_rule_takes_the_mean_of_judged_trials(subtests: pytest.Subtests) -> None:
    """Errored ones do not count; what is not known is not met, and says so."""
    cases: list[tuple[list[StoredAttempt], str, str]] = [
        ([of(0.25), of(0.75)], "met", "progress 50.0% (mean of 2 judged trials) meets 50.0%"),
        ([of(0.25), of(0.5)], "not met", "progress 37.5% (mean of 2 judged trials) is under 50.0%"),
        ([of(1.0), of(0.0, Verdict.ERRORED)], "met", "progress 100.0% (mean of 1 judged trial) meets 50.0%"),
        ([of(1.0), of(None)], "not met", "it is unknown how far 1 of 2 judged trials came"),
        ([of(1.0, Verdict.PASSED), of(None, Verdict.ERRORED)], "met", "progress 100.0%"),
        ([of(None, Verdict.ERRORED)], "not met", "no trial was judged"),
        ([], "not met", "no trial was judged"),
    ]
    for trials, word, message in cases:
        with subtests.test(trials=trials, word=word, message=message):
            result = MinProgressRule(least=0.5).check(trials)
            assert (result.word, message in result.message) == (word, True), result.message
