"""A job's summary and annotations: what matters first, within GitHub's limits, and no row acts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pytest_browsereval.datasets.base import RowRef
from pytest_browsereval.features.github.summary import JobPart, annotations_of, job_summary
from pytest_browsereval.model.rules import RuleResult
from pytest_browsereval.model.trials import TrialKey
from pytest_browsereval.runs.summary import RunSummary
from tests.recorded import ERRORED, FAILED, attempt, summary

EVIL = "<script>alert(1)</script> | ::error file=x::owned\n::set-output name=a::b\n[x](http://a) %0A @all"


def part(found: RunSummary, *rules: RuleResult, **more: Any) -> JobPart:
    count = len(found.trials)
    return JobPart("shop", Path("results/shop/x"), found, count, rules, **more)


MET = RuleResult("pass_rate", is_met=True, message="pass rate 90.0% is at least 90.0%")
MISSED = RuleResult("must_pass", is_met=False, message="1 of 1 did not pass: a")


def test_what_matters_most_comes_first() -> None:
    """The outcome, the figures, missed rules before others, failed rows before errored ones."""
    found = summary(attempt("a"), attempt("b", FAILED), attempt("c", ERRORED))
    text = job_summary([part(found, MET, MISSED)])
    order = ["### shop: gate missed (1 of 2 rules)", "pass rate 50.0%", "must\\_pass", "pass\\_rate"]
    order += ["failed in shop", "| b |", "errored in shop", "| c |"]
    places = [text.index(one) for one in order]
    assert places == sorted(places)
    assert "| a |" not in text


def test_a_summary_is_never_too_long() -> None:
    """GitHub refuses one over its limit as a whole: what does not fit is counted."""
    rows = [attempt(f"r{number}", FAILED, reason="x" * 400) for number in range(300)]
    whole = job_summary([part(summary(*rows))])
    assert "and 100 more; the run's page has them all" in whole
    short = job_summary([part(summary(*rows))] * 3, room=2_000)
    assert len(short.encode()) <= 2_000
    assert "more sections do not fit into a job's summary" in short
    assert short.startswith("### shop: 300 failed")


def places(count: int, folder: Path) -> dict[TrialKey, RowRef]:
    return {
        TrialKey(f"r{number}"): RowRef(f"r{number}", folder / "rows.jsonl", number + 1, 0)
        for number in range(count)
    }


def test_annotations_are_at_the_lines_of_the_rows(tmp_path: Path) -> None:
    """Relative to the repository; of a file outside of it no place is told."""
    found = summary(attempt("r1", FAILED, reason="no mug: 1, 2"), attempt("r0"), attempt("r2", ERRORED))
    lines = list(annotations_of(part(found), places(3, tmp_path / "evals"), tmp_path))
    assert lines == [
        "::error file=evals/rows.jsonl,line=2,title=failed%3A r1::no mug: 1, 2",
        "::error file=evals/rows.jsonl,line=3,title=errored%3A r2::r2 errored",
    ]
    outside = list(annotations_of(part(found), places(3, tmp_path / "evals"), tmp_path / "other"))
    assert outside[0] == "::error title=failed%3A r1::no mug: 1, 2"


def test_there_are_no_more_annotations_than_are_shown(tmp_path: Path) -> None:
    """Ten of a kind; the last one counts the rest. Under a gate rows are warnings."""
    found = summary(*(attempt(f"r{number}", FAILED) for number in range(30)))
    lines = list(annotations_of(part(found), places(30, tmp_path), tmp_path))
    assert len(lines) == 10
    assert lines[-1].startswith("::error title=21 more::21 more like this one: failed: r")
    gated = list(
        annotations_of(part(found, MISSED, is_expected=lambda _: True), places(30, tmp_path), tmp_path)
    )
    kinds = [line.split()[0] for line in gated]
    assert (kinds.count("::error"), kinds.count("::warning")) == (1, 10)
    both = list(annotations_of(part(found, MISSED), places(30, tmp_path), tmp_path))
    assert len(both) == 10


def test_what_a_row_says_is_no_command_and_no_markup(tmp_path: Path) -> None:
    """A page's text comes back as a grader's reason."""
    found = summary(attempt("r0", FAILED, reason=EVIL))
    text = job_summary([part(found)])
    assert "<script" not in text
    assert "\\](http\\:" in text
    assert "@all" not in text
    (line,) = annotations_of(part(found), places(1, tmp_path), tmp_path)
    assert line.count("\n") == 0
    assert "%250A" in line
    assert line.startswith("::error file=rows.jsonl,line=1,title=failed%3A r0::")
