"""The table at the end of a run: widths, order, what is left out, the line of totals."""

from __future__ import annotations

import pytest

from pytest_browsereval.model.display import width_of
from pytest_browsereval.report.table import MOST_ROWS, draw_repeats, reasons, table, totals
from tests.recorded import ERRORED, FAILED, PASSED, attempt, summary

pytestmark = pytest.mark.quick


def test_rows_are_marked_and_bad_ones_found() -> None:
    """Each trial is a line with mark, verdict, grades, steps and time; bad ones come first."""
    run = summary(attempt("good"), attempt("bad", FAILED), attempt("broken", ERRORED, grader_results={}))
    lines = list(table(run))
    assert [(line.text[0], line.verdict) for line in lines] == [
        (" ", None),
        ("!", ERRORED),
        ("✗", FAILED),
        ("✓", PASSED),
    ]
    assert lines[1].text.split() == ["!", "broken", "errored", "site", "3", "2.0", "s"]
    assert lines[3].text.split() == ["✓", "good", "passed", "answer", "1", "3", "2.0", "s"]
    assert [line.text[0] for line in table(run, ascii_only=True)] == [" ", "!", "x", "+"]


def test_names_tell_variants_and_trials_apart_where_there_are_several() -> None:
    """A suffix is shown for what the run has more than one of, as in the items' names."""
    assert "a[" not in "".join(line.text for line in table(summary(attempt("a"), attempt("ab"))))
    run = summary(attempt("a", variant="x"), attempt("a", variant="y", trial=2))
    assert [line.text.split()[1] for line in table(run)][1:] == ["a[x-1]", "a[y-2]"]


def test_many_trials_are_folded() -> None:
    """Beyond sixty trials the passed ones are counted, beyond sixty bad ones those too, and none is lost."""
    good = [attempt(f"good{n}") for n in range(MOST_ROWS)]
    lines = [line.text for line in table(summary(*good))]
    assert len(lines) == 1 + MOST_ROWS
    lines = [line.text for line in table(summary(*good, attempt("bad", FAILED)))]
    assert [line.split()[:2] for line in lines[1:]] == [["✗", "bad"], ["…", str(MOST_ROWS)]]
    bad = [attempt(f"bad{n}", FAILED) for n in range(MOST_ROWS + 7)]
    lines = [line.text for line in table(summary(*good, *bad))]
    assert len(lines) == 1 + MOST_ROWS + 1
    assert lines[-1] == f"  … {MOST_ROWS} passed, 7 more failed or errored"


def test_totals_name_the_denominator() -> None:
    """The rate is told with what it is of; errors, rows not run, money, false claims, if there are any."""
    run = summary(attempt("a", cost_usd=0.5), attempt("b", FAILED), attempt("c", FAILED))
    assert list(totals(run, 3)) == [
        "pass rate 33.3% (1 of 3 judged) · $0.5000 · 95 % interval 6.1 to 79.2%",
        "false claims 2 of 3",
    ]
    assert list(totals(summary(attempt("a", cost_usd=None)), 4)) == [
        "pass rate 100.0% (1 of 1 judged) · 3 not run · cost unknown",
        "95 % interval 20.7 to 100.0%",
    ]
    costs = (0.5, None, None)
    partly = summary(*(attempt(str(n), cost_usd=cost) for n, cost in enumerate(costs)))
    assert "at least $0.5000, the cost of 2 attempts is unknown" in " · ".join(totals(partly, 3))
    broken = summary(attempt("a", ERRORED))
    assert list(totals(broken, 1)) == ["no trial was judged · 1 errored, not in the rate (site 1)"]


def test_totals_tell_how_alike_trials_are() -> None:
    """Where rows name several sites, and where tasks have several trials, there is an interval for that."""
    run = summary(
        *(attempt(f"{site}{n}", site[n], trial=t, website=str(place))
          for place, site in enumerate(((PASSED, PASSED), (PASSED, FAILED), (FAILED, FAILED)))
          for n in (0, 1) for t in (1, 2))
    )  # fmt: skip
    assert list(totals(run, 12)) == [
        "pass rate 50.0% (6 of 12 judged)",
        "95 % interval 25.4 to 74.6%, by 3 sites 3.6 to 96.4%, by 6 tasks 12.3 to 87.7%",
        "false claims 6 of 12",
    ]
    same = summary(*(attempt(f"{n}", website=str(n % 2), trial=t) for n in range(4) for t in (1, 2)))
    assert list(totals(same, 8)) == ["pass rate 100.0% (8 of 8 judged) · 95 % interval 67.6 to 100.0%"]


def test_reasons_of_bad_trials_are_told_and_counted() -> None:
    """Why each of the first ten bad trials was not passed, in lines that fit; the rest is counted."""
    bad = [attempt(f"bad-{n}", FAILED, reason="the answer is \x1b[31mwrong " + "x" * 90) for n in range(12)]
    lines = list(reasons(summary(attempt("good", PASSED), *bad), width=80, ascii_only=True))
    assert [line.text.split()[0] for line in lines if line.text.startswith("bad-")] == [
        f"bad-{n}" for n in range(10)
    ]
    assert lines[-1].text == "and 2 more; -rx lists them all"
    assert all(width_of(line.text) <= 80 and line.text.isprintable() for line in lines)
    assert not list(reasons(summary(attempt("good", PASSED))))


def test_repeated_trials_tell_rates_and_unsteady_tasks() -> None:
    """With their denominators; a run without repeats says nothing of them."""
    assert list(draw_repeats(summary(attempt("a"), attempt("b", FAILED)))) == []
    run = summary(
        *(attempt("a", verdict, trial=n) for n, verdict in enumerate((PASSED, FAILED), 1)),
        *(attempt("b\x1b[31m", PASSED, trial=n) for n in (1, 2)),
        attempt("b\x1b[31m", ERRORED, trial=3),
        attempt("c", FAILED),
        attempt("c", ERRORED, trial=2),
    )
    assert list(draw_repeats(run)) == [
        "pass@2 100.0% · pass^2 50.0% (2 of 3 tasks with 2 judged trials)",
        "1 flaky by agent · 2 flaky by environment",
        "  flaky by agent: a: 1 passed, 1 failed",
        "  flaky by environment: b [31m: 2 passed, 1 errored",
        "  flaky by environment: c: 1 failed, 1 errored",
    ]
    many = summary(*(attempt(f"{n}", v, trial=t) for n in range(12) for t, v in ((1, PASSED), (2, FAILED))))
    assert list(draw_repeats(many))[-1] == "  and 2 more, in summary.json"
