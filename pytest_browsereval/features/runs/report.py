"""Reports of all runs over time, and of some runs: what they were made of, and how their tasks came out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pytest_browsereval.config_text import format_path
from pytest_browsereval.features.runs.breaks import Break
from pytest_browsereval.features.runs.description import RunDescription
from pytest_browsereval.features.runs.digest import Figures, RunDigest, State, VariantDigest
from pytest_browsereval.features.runs.flakes import WORST, Flakes
from pytest_browsereval.model.display import format_count, one_line, percent
from pytest_browsereval.model.grades import Verdict
from pytest_browsereval.report.report import Report, Row, Table
from pytest_browsereval.report.table import format_interval
from pytest_browsereval.runs.passrate import PassRate
from pytest_browsereval.runs.repeats import Stability, TaskRepeats
from pytest_browsereval.runs.summary import RunSummary

HEAD = ("started (UTC)", "eval", "agent", "pass rate (95 %)", "errored", "cost", "gate", "commit")
ALIGNS = "rllrrrll"
OPTIONAL = ("errored", "cost", "gate", "commit")
"""Columns that are left out if no run has a value for them."""

Breaks = Mapping[tuple[str, str], Break]


def make_report(runs: Sequence[RunDigest], breaks: Breaks, most: int, notes: Sequence[str] = ()) -> Report:
    """Return the list of runs.

    Args:
        runs: all, the newest first.
        breaks: where the line of a variant breaks.
        most: how many runs are listed.
        notes: what stands below the list.
    """
    rows = [
        Row(_cells(run, variant), details=list(_notes(run, variant, breaks)))
        for run in runs[:most]
        for variant in run.variants or (None,)
    ]
    evals = {run.eval for run in runs[:most]}
    columns = zip(*(row.cells for row in rows), strict=True)
    shown = [place for place, cells in enumerate(columns) if _has_news(place, cells)]
    left = len(runs) - most
    more = [f"and {left:,} more runs; --json FILE has them all"] if left > 0 else []
    return Report(
        title=f"eval {one_line(evals.pop(), 40)}" if len(evals) == 1 else "",
        tables=[
            Table(
                [HEAD[n] for n in shown],
                [Row([row.cells[n] for n in shown], details=row.details) for row in rows],
                aligns="".join(ALIGNS[n] for n in shown),
                details="note",
                most=len(rows),
            )
        ],
        notes=[*more, *notes],
        content=lambda: {"runs": [_run_json(run, breaks) for run in runs]},
    )


def _has_news(place: int, cells: Sequence[str]) -> bool:
    """Return whether a column is shown: 80 columns do not have room for one without values."""
    if HEAD[place] == "eval":
        return len(set(cells)) > 1
    return HEAD[place] not in OPTIONAL or not {"-", "$0"}.issuperset(cells)


def _cells(run: RunDigest, variant: VariantDigest | None) -> tuple[str, ...]:
    figures = variant or run.whole
    agent = "" if variant is None else variant.agent
    if variant is not None and variant.name != "default":
        agent = f"{variant.name}: {agent}" if agent else variant.name
    is_judged = run.state not in (State.UNFINISHED, State.DAMAGED)
    return (
        run.started_at[:16].replace("T", " "),
        one_line(run.eval, 40),
        one_line(agent),
        format_rate(figures) if is_judged else "-",
        str(figures.errored or "-"),
        format_cost(figures) if is_judged else "-",
        {True: "met", False: "not met", None: "-"}[run.gate],
        one_line((run.commit or "-")[:7]),
    )


def format_rate(figures: Figures) -> str:
    """Return a pass rate with its interval."""
    if figures.rate is None or figures.interval is None:
        return "none judged"
    low, high = figures.interval
    return f"{percent(figures.rate)} ({100 * low:.0f} to {100 * high:.0f})"


def format_cost(figures: Figures) -> str:
    """Return what trials cost."""
    if figures.cost_usd is None:
        return "unknown"
    return f"${figures.cost_usd:.4f}" if figures.cost_usd else "$0"


def _notes(run: RunDigest, variant: VariantDigest | None, breaks: Breaks) -> Iterator[str]:
    if run.state is not State.COMPLETE:
        yield f"{run.state}: {run.note}" if run.note else str(run.state)
    is_first = variant in (None, *run.variants[:1])
    if run.state is State.COMPLETE and run.note and is_first:
        yield run.note
    if run.missed and is_first:
        yield f"gate not met: {', '.join(run.missed)}"
    found = variant and breaks.get((run.run, variant.name))
    if found:
        yield f"not comparable with the run before: {', '.join(found.changes)} changed"


def _run_json(run: RunDigest, breaks: Breaks) -> dict[str, Any]:
    content = run.model_dump(mode="json")
    for one in content["variants"]:
        found = breaks.get((run.run, one["name"]))
        one["not_comparable_with"] = found and found.before
        one["changed"] = {} if found is None else {word: list(lines) for word, lines in found.changes.items()}
    return content


# -- runs that are named

MOST_MARKS = 20
"""Each run is a letter, and a line has room for so many; the newest are shown."""

LEGEND = "runs, the oldest first: P passed, F failed, M both, E errored, . no result"


def describe_runs(
    runs: Sequence[RunDescription], differences: Sequence[tuple[str, str]], flakes: Flakes
) -> Report:
    """Return what runs were made of, in what they differ, and how their tasks came out.

    Args:
        runs: the oldest first.
        differences: between one and the next: the names of the two, and a line for each value.
        flakes: of the tasks.
    """
    is_one = len(runs) == 1
    rows = [line if len(runs) == 2 else f"{where}: {line}" for where, line in differences]
    notes = [LEGEND] if flakes.tasks else []
    if not is_one and not rows:
        notes.append("the runs differ only in time")
    if not is_one and not flakes.tasks:
        notes.append("no task of these runs has more than one trial, so whether one is flaky is unknown")
    return Report(
        facts=runs[0].facts if is_one else list(map(_describe_run, runs)),
        tables=[
            *(_list_parts(runs[0].summary) if is_one and runs[0].summary else ()),
            Table(("",), [Row((line,)) for line in rows], "they differ in (older first):"),
            _list_flakes(flakes),
        ],
        notes=notes,
        content=lambda: {"runs": [one.content for one in runs], "differences": rows, **flakes.as_json()},
    )


def _list_parts(summary: RunSummary) -> Iterator[Table]:
    """Yield the pass rates by tag and by website, of which there are two or more."""
    for key, name in (("by_tag", "tag"), ("by_website", "website")):
        rates = summary.rates_by(key)
        rows = [
            Row(
                (
                    one_line(part, 40),
                    *map(str, (rate.passed, rate.failed, sum(rate.errored.values()))),
                    _rate(rate),
                )
            )
            for part, rate in rates.items()
        ]
        head = (name, "passed", "failed", "errored", "pass rate, 95 % interval")
        yield Table(head, rows if len(rows) > 1 else [], aligns="lrrrl")


def _rate(rate: PassRate) -> str:
    if rate.value is None or rate.interval is None:
        return "none judged"
    return f"{percent(rate.value)} ({format_interval(rate.interval)})"


def _describe_run(one: RunDescription) -> str:
    found = one.summary
    counts = {kind: found.count(kind) for kind in Verdict} if found else {}
    told = ", ".join(f"{count:,} {kind}" for kind, count in counts.items() if count)
    return f"{format_path(one.run.folder)}: {told or 'no result'}"


def _list_flakes(found: Flakes) -> Table:
    """Return the tasks with several trials; those that always passed are in the counts only."""
    listed = [one for one in found.tasks if one[0].stability is not Stability.STABLE_PASS]
    counts = ", ".join(f"{found.counts[kind]:,} {kind}" for kind in WORST if found.counts[kind])
    about = [f"{format_count(len(found.tasks), 'task')} with several trials: {counts}"] if counts else []
    if counts and found.edited:
        were = f"{format_count(found.edited, 'row')} {'was' if found.edited == 1 else 'were'} edited"
        older = format_count(found.left_out, "trial")
        about.append(f"note: {were} between the runs: {older} of older versions left out")
    if counts and found.twice:
        about.append(f"note: {format_count(found.twice, 'trial')} in two of the runs, counted once")
    if counts and found.once:
        about.append(f"note: {format_count(found.once, 'task')} with one trial only, in no class")
    head = ("task", "class", "passed", "failed", "errored", "runs")
    return Table(head, list(map(_make_row, listed)), about=about, aligns="llrrrl")


def _make_row(one: tuple[TaskRepeats, str]) -> Row:
    task, marks = one
    name = task.query_id if task.variant == "default" else f"{task.query_id} [{task.variant}]"
    counts = map(str, (task.passed, task.failed, task.errored))
    return Row((name, str(task.stability), *counts, marks[-MOST_MARKS:]))
