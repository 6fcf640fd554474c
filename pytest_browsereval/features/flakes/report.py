"""Report of flaky tasks over several runs."""

from __future__ import annotations

from collections.abc import Iterator

from pytest_browsereval.config_text import format_path
from pytest_browsereval.features.flakes.flakes import WORST, Flakes, count_verdicts
from pytest_browsereval.features.outcomes import RunOutcomes
from pytest_browsereval.model.display import format_count, join_first
from pytest_browsereval.report.report import Report, Row, Table
from pytest_browsereval.runs.repeats import Stability, TaskRepeats

MOST_RUNS = 20
"""Each run is a letter, and a line has room for so many; the newest are shown."""

MOST_CHANGES = 5

LEGEND = "runs, the oldest first: P passed, F failed, M both, E errored, . no result"


def make_report(found: Flakes) -> Report:
    """Return the report; tasks that always passed are in its counts only."""
    listed = [one for one in found.tasks if one[0].stability is not Stability.STABLE_PASS]
    head = ("task", "class", "passed", "failed", "errored", "runs")
    counts = ", ".join(f"{found.counts[kind]:,} {kind}" for kind in WORST if found.counts[kind])
    return Report(
        title=f"{format_count(len(found.tasks), 'task')} with several trials: {counts}",
        facts=[
            *(f"{format_path(run.folder)}: {_describe_verdicts(run)}" for run in found.runs),
            *_list_notes(found),
        ],
        tables=[Table(head, list(map(_make_row, listed)), aligns="llrrrl")],
        notes=[LEGEND] if listed else [],
        content=found.as_json,
    )


def _list_notes(found: Flakes) -> Iterator[str]:
    """Yield what a reader has to know: where the runs are not alike, and what is left out."""
    for what, lines in (("agent", found.agents), ("grader", found.judges)):
        if lines:
            changes = join_first(lines, MOST_CHANGES, "; ")
            yield f"warning: the {what} is not the same, so a change may not be flakiness: {changes}"
    if found.others:
        yield f"note: the runs differ as well in {', '.join(found.others)}"
    if found.edited:
        rows = f"{format_count(found.edited, 'row')} {'was' if found.edited == 1 else 'were'} edited"
        older = format_count(found.left_out, "trial")
        yield f"note: {rows} between the runs: {older} of older versions left out"
    if found.twice:
        yield f"note: {format_count(found.twice, 'trial')} in two of the runs, counted once"
    if found.once:
        yield f"note: {format_count(found.once, 'task')} with one trial only, in no class"


def _describe_verdicts(run: RunOutcomes) -> str:
    parts = (f"{count:,} {verdict}" for verdict, count in count_verdicts(run).items() if count)
    return ", ".join(parts) or "no result"


def _make_row(one: tuple[TaskRepeats, str]) -> Row:
    task, marks = one
    name = task.query_id if task.variant == "default" else f"{task.query_id} [{task.variant}]"
    counts = map(str, (task.passed, task.failed, task.errored))
    return Row((name, str(task.stability), *counts, marks[-MOST_RUNS:]))
