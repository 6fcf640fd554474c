"""The table that ends a run in the terminal: one line for each trial, 80 columns unless more are there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from pytest_browsereval.model.display import fit, format_count, one_line, percent, width_of, wrap_text
from pytest_browsereval.model.grades import Verdict
from pytest_browsereval.runs.attempt import GradeDigest
from pytest_browsereval.runs.passrate import PassRate
from pytest_browsereval.runs.repeats import Stability
from pytest_browsereval.runs.summary import RunSummary
from pytest_browsereval.runs.trial import StoredTrial
from pytest_browsereval.stats.statistics import Interval

# A longer table scrolls the failures away, so passed trials are then counted instead.
MOST_ROWS = 60
MOST_REASONS = 10
MOST_DISAGREEMENTS = 5
MOST_UNSTEADY = 10
MARKS = {Verdict.PASSED: "✓", Verdict.FAILED: "✗", Verdict.ERRORED: "!"}
ASCII_MARKS = {Verdict.PASSED: "+", Verdict.FAILED: "x", Verdict.ERRORED: "!"}


@dataclass(frozen=True)
class Line:
    """A line of the table and the verdict that colours it."""

    text: str
    verdict: Verdict | None = None


def table(summary: RunSummary, *, width: int = 80, ascii_only: bool = False) -> Iterator[Line]:
    """Yield the lines: a head, the trials with the bad ones first, and what was left out.

    Args:
        summary: of the run.
        width: columns of the terminal.
        ascii_only: for terminals that cannot show the marks.
    """
    # Bad trials first: a long table is cut at its end.
    trials = sorted(summary.trials, key=lambda trial: worst_first(trial.last.verdict))
    if len(trials) > MOST_ROWS:
        bad = [t for t in trials if t.last.verdict is not Verdict.PASSED]
        trials = bad[:MOST_ROWS]
    cut = "..." if ascii_only else "…"
    names = [only_printable(name, ascii_only) for name in name_trials(trials, summary)]
    grades = [only_printable(_grades(trial), ascii_only) for trial in trials]
    tail = f" {'steps':>5} {'time':>7}"
    longest_grades = max(width_of(g) for g in (*grades, "grades"))
    room = max(width - len("✓ errored  ") - len(tail) - 2, 20)
    name_width = min(max(width_of(n) for n in (*names, "task")), max(room - min(longest_grades, 30), 12))
    grade_width = min(room - name_width, longest_grades)
    yield Line(f"  {'task':<{name_width}}  verdict  {'grades':<{grade_width}}{tail}".rstrip())
    for trial, name, shown in zip(trials, names, grades, strict=True):
        data = trial.last
        mark = (ASCII_MARKS if ascii_only else MARKS)[data.verdict]
        yield Line(
            f"{mark} {fit(name, name_width, cut)}  {data.verdict!s:<7}  {fit(shown, grade_width, cut)}"
            f" {data.total_steps:>5} {format_time(data.total_duration_ms):>7}",
            data.verdict,
        )
    if len(summary.trials) > len(trials):
        passed = sum(trial.last.verdict is Verdict.PASSED for trial in summary.trials)
        rest = len(summary.trials) - len(trials) - passed
        more = f", {rest} more failed or errored" if rest else ""
        yield Line(f"  {cut} {passed} passed{more}")


def reasons(summary: RunSummary, *, width: int = 80, ascii_only: bool = False) -> Iterator[Line]:
    """Yield why trials were not passed, the first ten of them; for rows that a gate shows as expected."""
    bad = [t for t in summary.trials if t.last.verdict is not Verdict.PASSED]
    for trial, name in zip(bad[:MOST_REASONS], name_trials(bad, summary), strict=False):
        data = trial.last
        text = only_printable(f"{name} {data.verdict}: {' '.join(data.reason.split())}", ascii_only)
        yield from (Line(part, data.verdict) for part in wrap_text(text, width))
    if len(bad) > MOST_REASONS:
        yield Line(f"and {len(bad) - MOST_REASONS} more; -rx lists them all")


def disagreements(summary: RunSummary, *, width: int = 80, ascii_only: bool = False) -> Iterator[Line]:
    """Yield on how many trials graders disagree, and who says what of the first five; nothing if none."""
    split = summary.disagreements
    if not split:
        return
    yield Line(f"graders disagree on {len(split)} of {format_count(len(summary.trials), 'trial')}:")
    for trial, name in zip(split[:MOST_DISAGREEMENTS], name_trials(split, summary), strict=False):
        grades = trial.last.grader_results.values()
        message = ", ".join(f"{grade.verdict} by {_title(grade)}" for grade in grades)
        text = only_printable(f"- {name}: {message}", ascii_only)
        yield from (Line(part) for part in wrap_text(text, width))
    if len(split) > MOST_DISAGREEMENTS:
        yield Line(f"and {len(split) - MOST_DISAGREEMENTS} more; summary.json lists them all")


def name_trials(trials: Iterable[StoredTrial], summary: RunSummary) -> Iterator[str]:
    """Yield the names, with variant and number where the run has several of them."""
    has_variants = len({trial.last.variant for trial in summary.trials}) > 1
    has_trials = len({trial.last.trial for trial in summary.trials}) > 1
    for trial in trials:
        data = trial.last
        known = (has_variants, data.variant), (has_trials, str(data.trial))
        parts = [part for is_shown, part in known if is_shown]
        yield data.query_id + (f"[{'-'.join(parts)}]" if parts else "")


def worst_first(verdict: Verdict) -> int:
    """Return the place of a verdict in a list with errored trials first and passed ones last."""
    return list(MARKS)[::-1].index(verdict)


def only_printable(text: str, ascii_only: bool) -> str:  # noqa: FBT001
    """Return a text of a row without what a terminal would obey or cannot show."""
    return "".join(c if c.isprintable() and (c.isascii() or not ascii_only) else "?" for c in text)


def _grades(trial: StoredTrial) -> str:
    data = trial.last
    if data.verdict is Verdict.ERRORED and not data.grader_results:
        return str(data.error_source)
    return " ".join(map(_grade, data.grader_results.values()))


def _grade(grade: GradeDigest) -> str:
    if grade.score is not None:
        return f"{_title(grade)} {grade.score:.2g}"
    if grade.outcome and grade.verdict is Verdict.PASSED:
        return grade.outcome
    return f"{_title(grade)} {'error' if grade.verdict is Verdict.ERRORED else grade.verdict}"


def _title(grade: GradeDigest) -> str:
    return f"{grade.grader} (advisory)" if grade.advisory else grade.grader


def format_time(ms: float | None) -> str:
    """Return a time for a column: ``2.0 s``, ``3m20s``."""
    if ms is None:
        return "?"
    return f"{ms / 1000:.1f} s" if ms < 60_000 else f"{int(ms // 60_000)}m{int(ms % 60_000 // 1000):02d}s"


def totals(summary: RunSummary, selected: int | None, *, width: int = 80) -> Iterator[str]:
    """Yield the pass rate with its denominator, errors, money: one line, or more where it is too long."""
    rate = summary.pass_rate
    judged = f"({summary.count(Verdict.PASSED)} of {summary.judged} judged)"
    parts = ["no trial was judged" if rate is None else f"pass rate {percent(rate)} {judged}"]
    if errored := summary.count(Verdict.ERRORED):
        sources = ", ".join(f"{source} {n}" for source, n in summary.errors_by_source().items())
        parts.append(f"{errored} errored, not in the rate ({sources})")
    if summary.deaths:
        parts.append(f"{format_count(summary.deaths, 'process death')} that no trial caused")
    if selected is not None and selected > len(summary.trials):
        parts.append(f"{selected - len(summary.trials)} not run")
    if summary.cost_usd is None:
        known, unknown = summary.known_cost
        of_what = f"the cost of {format_count(unknown, 'attempt')} is unknown"
        parts.append(f"at least ${known:.4f}, {of_what}" if known else "cost unknown")
    elif summary.cost_usd:
        parts.append(f"${summary.cost_usd:.4f}")
    if shown_ends := intervals(summary.rate):
        parts.append(shown_ends)
    if (claims := summary.false_claims).hits:
        parts.append(f"false claims {claims.hits} of {claims.of}")
    line = parts[0]
    for part in parts[1:]:
        if len(line) + len(part) + 3 > width:
            yield line
            line = part
        else:
            line = f"{line} · {part}"
    yield line


def warnings_of_passed(summary: RunSummary) -> Iterator[str]:
    """Yield the number of warnings of passed trials: pytest prints no report of these."""
    passed = [trial.last for trial in summary.trials if trial.last.verdict is Verdict.PASSED]
    if counts := [data.warning_count for data in passed if data.warning_count]:
        many = f"{format_count(sum(counts), 'warning')} in {len(counts)} of {len(passed)} passed trials"
        yield f"{many}: see the metadata.json of each"


def draw_repeats(summary: RunSummary) -> Iterator[str]:
    """Yield what repeated trials say: pass@k, pass^k, the tasks that are unsteady; nothing without any."""
    found = summary.repeats
    if found is None:
        return
    if found.pass_at_k is not None and found.pass_hat_k is not None:
        yield (
            f"pass@{found.k} {percent(found.pass_at_k)} · pass^{found.k} {percent(found.pass_hat_k)} "
            f"({len(found.counted)} of {len(found.tasks)} tasks with {found.k} judged trials)"
        )
    yield " · ".join(f"{found.counts[kind]} {kind}" for kind in Stability if found.counts[kind])
    for task in found.unsteady[:MOST_UNSTEADY]:
        counts = ((task.passed, "passed"), (task.failed, "failed"), (task.errored, "errored"))
        message = ", ".join(f"{count} {name}" for count, name in counts if count)
        variant = f" ({task.variant})" if task.variant != "default" else ""
        yield f"  {task.stability}: {one_line(task.query_id, 60)}{variant}: {message}"
    if (more := len(found.unsteady) - MOST_UNSTEADY) > 0:
        yield f"  and {more} more, in summary.json"


def intervals(rate: PassRate) -> str:
    """Return how sure a pass rate is: Wilson's interval, and those by site and by task if there are any."""
    if (ends := rate.interval) is None:
        return ""
    parts = [f"{rate.confidence * 100:g} % interval {format_interval(ends)}"]
    for name, found in (("sites", rate.by_site), ("tasks", rate.by_task)):
        if found is not None and rate.value not in (0, 1):  # else there is no variation to estimate from
            parts.append(f"by {found.groups:,} {name} {format_interval(found.interval)}")
    return ", ".join(parts)


def format_interval(ends: Interval | None) -> str:
    """Return where a share lies, ``62.1 to 80.4%``; empty where it is unknown."""
    return f"{percent(ends.low)[:-1]} to {percent(ends.high)}" if ends else ""
