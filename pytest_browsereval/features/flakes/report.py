"""Flaky tasks over several runs: for a terminal of 100 columns, and as Markdown."""

from __future__ import annotations

from collections.abc import Iterator

from pytest_browsereval.analysis.repeats import Stability
from pytest_browsereval.config_text import format_path
from pytest_browsereval.features.flakes.flakes import WORST, Flakes, RunTrials, TaskHistory
from pytest_browsereval.model.display import fit, format_count, one_line, wrap_text
from pytest_browsereval.model.grades import Verdict
from pytest_browsereval.report.markdown import draw_table, quote_text
from pytest_browsereval.report.table import count_rest

WIDTH = 100

# Tasks, and lines about differences; `--json` has all of them.
MOST_LISTED = 30

# Each run is a letter, and a line has room for so many; the newest are shown.
MOST_RUNS = 20

LEGEND = "runs, the oldest first: P passed, F failed, M both, E errored, . no result"


def text(found: Flakes, width: int = WIDTH) -> Iterator[str]:
    """Yield the lines for a terminal.

    Args:
        found: what the runs say.
        width: columns of the terminal.
    """
    for run in found.runs:
        yield one_line(f"{format_path(run.outcomes.folder)}: {_counts(run)}", width)
    for note in notes(found):
        yield from wrap_text(one_line(note, 400), width)
    yield ""
    yield from wrap_text(totals(found), width)
    listed = _choose_tasks(found)
    if not listed:
        return
    yield ""
    room = width - 50 - min(len(found.runs), MOST_RUNS)
    yield f"{fit('task', room)}  {'class':<20}  passed failed errored  runs".rstrip()
    for one in listed[:MOST_LISTED]:
        task = one.task
        yield (
            f"{fit(_name(one), room)}  {task.stability:<20}  {task.passed:>6} {task.failed:>6} "
            f"{task.errored:>7}  {_marks(one)}"
        )
    yield from count_rest(len(listed), MOST_LISTED)
    yield LEGEND


def totals(found: Flakes) -> str:
    """Return the number of tasks in each class."""
    counts = found.counts
    text = ", ".join(f"{counts[kind]:,} {kind}" for kind in WORST if counts[kind])
    return f"{format_count(len(found.tasks), 'task')} with several trials: {text}"


def notes(found: Flakes) -> Iterator[str]:
    """Yield what a reader has to know: where the runs are not alike, and what is left out."""
    for what, lines in (("agent", found.agents), ("grader", found.judges)):
        for line in lines[:MOST_LISTED]:
            yield f"warning: the {what} is not the same, so a change may not be flakiness: {line}"
        yield from (f"warning: {line}" for line in count_rest(len(lines), MOST_LISTED))
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


def markdown(found: Flakes) -> str:
    """Return the report for a comment."""
    lines = [f"### {quote_text(totals(found))}", ""]
    lines += [f"- {quote_text(run.name)}: {_counts(run)}" for run in found.runs]
    lines += [f"- {quote_text(note)}" for note in notes(found)]
    if listed := _choose_tasks(found):
        head = ("task", "class", "passed", "failed", "errored", "runs")
        lines += ["", *draw_table(head, map(_row, listed[:MOST_LISTED]), "llrrrl")]
        lines += ["", *count_rest(len(listed), MOST_LISTED), LEGEND]
    return "\n".join(lines) + "\n"


def _row(one: TaskHistory) -> tuple[str, ...]:
    task = one.task
    counts = map(str, (task.passed, task.failed, task.errored))
    return quote_text(_name(one)), str(task.stability), *counts, f"`{_marks(one)}`"


def _choose_tasks(found: Flakes) -> list[TaskHistory]:
    """Return the tasks that are listed: all but those that always passed."""
    return [one for one in found.tasks if one.task.stability is not Stability.STABLE_PASS]


def _counts(run: RunTrials) -> str:
    parts = (f"{run.count(verdict):,} {verdict}" for verdict in Verdict if run.count(verdict))
    return ", ".join(parts) or "no result"


def _name(one: TaskHistory) -> str:
    variant = f" [{one_line(one.task.variant, 60)}]" if one.task.variant != "default" else ""
    return one_line(one.task.query_id, 60) + variant


def _marks(one: TaskHistory) -> str:
    return one.marks[-MOST_RUNS:]
