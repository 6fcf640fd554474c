"""Reports of runs: a list of all, and what some of them were made of."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from pytest_browsereval.config_text import format_path
from pytest_browsereval.features.runs.breaks import Breaks
from pytest_browsereval.features.runs.description import RunDescription
from pytest_browsereval.features.runs.digest import RunDigest, State, VariantDigest
from pytest_browsereval.features.runs.flakes import WORST, Flakes
from pytest_browsereval.model.display import format_count, one_line, percent
from pytest_browsereval.model.grades import Verdict
from pytest_browsereval.report.report import Report, Row, Table
from pytest_browsereval.runs.repeats import Stability, TaskRepeats
from pytest_browsereval.runs.summary import RunSummary

HEAD = ("started (UTC)", "eval", "agent", "pass rate (95 %)", "errored", "cost", "gate", "commit")
ALIGNS = "rllrrrll"
OPTIONAL = ("errored", "cost", "gate", "commit")
"""Columns that are left out if no run has a value for them: 80 columns do not have room for these."""


def make_report(runs: Sequence[RunDigest], breaks: Breaks, most: int, notes: Sequence[str] = ()) -> Report:
    """Return the list of runs.

    Args:
        runs: all, the newest first.
        breaks: where the line of a variant breaks.
        most: how many runs are listed.
        notes: what stands below the list.
    """
    rows = [
        (_cells(run, variant), list(_notes(run, variant, breaks)))
        for run in runs[:most]
        for variant in run.variants or (None,)
    ]
    evals = {run.eval for run in runs[:most]}
    shown = [
        place
        for place, name in enumerate(HEAD)
        if (len(evals) > 1 if name == "eval" else name not in OPTIONAL)
        or (name in OPTIONAL and any(cells[place] not in ("-", "$0") for cells, _ in rows))
    ]
    left = len(runs) - most
    more = [f"and {left:,} more runs; --json FILE has them all"] if left > 0 else []
    return Report(
        title=f"eval {one_line(evals.pop(), 40)}" if len(evals) == 1 else "",
        tables=[
            Table(
                [HEAD[n] for n in shown],
                [Row([cells[n] for n in shown], details=details) for cells, details in rows],
                aligns="".join(ALIGNS[n] for n in shown),
                details="note",
                most=len(rows),
            )
        ],
        notes=[*more, *notes],
        content=lambda: {"runs": [_run_json(run, breaks) for run in runs]},
    )


def _cells(run: RunDigest, variant: VariantDigest | None) -> tuple[str, ...]:
    figures = run.whole if variant is None else variant.figures
    agent = "" if variant is None else variant.agent
    if variant is not None and variant.name != "default":
        agent = f"{variant.name}: {agent}"
    is_judged = run.state not in (State.UNFINISHED, State.DAMAGED)
    cost = "unknown" if figures.cost_usd is None else f"${figures.cost_usd:.4f}" if figures.cost_usd else "$0"
    return (
        run.started_at[:16].replace("T", " "),
        one_line(run.eval, 40),
        one_line(agent),
        format_rate(figures.rate, figures.interval) if is_judged else "-",
        str(figures.errored or "-"),
        cost if is_judged else "-",
        {True: "met", False: "not met", None: "-"}[run.gate],
        one_line((run.commit or "-")[:7]),
    )


def format_rate(rate: float | None, interval: tuple[float, float] | None) -> str:
    """Return a pass rate with its interval."""
    if rate is None or interval is None:
        return "none judged"
    low, high = interval
    return f"{percent(rate)} ({100 * low:.0f} to {100 * high:.0f})"


def _notes(run: RunDigest, variant: VariantDigest | None, breaks: Breaks) -> Iterator[str]:
    if variant in (None, *run.variants[:1]):
        if said := ": ".join(filter(None, ("" if run.state is State.COMPLETE else run.state, run.note))):
            yield said
        if run.missed:
            yield f"gate not met: {', '.join(run.missed)}"
    if variant and (found := breaks.get((run.run, variant.name))):
        yield f"not comparable with the run before: {', '.join(found.words)} changed"


def _run_json(run: RunDigest, breaks: Breaks) -> dict[str, Any]:
    content = asdict(run)
    for one in content["variants"]:
        found = breaks.get((run.run, one["name"]))
        one["not_comparable_with"] = found and found.before
        one["changed"] = [] if found is None else list(found.words)
    return content


# -- runs that are named

MOST_MARKS = 20
"""Each run is a letter, and a line has room for so many; the newest are shown."""

LEGEND = "runs, the oldest first: P passed, F failed, M both, E errored, . no result"


def describe_runs(runs: Sequence[RunDescription], changes: Sequence[str], flakes: Flakes) -> Report:
    """Return what runs were made of, in what they differ, and how their tasks came out.

    Args:
        runs: the oldest first.
        changes: between one and the next, a line for each value.
        flakes: of the tasks.
    """
    is_one = len(runs) == 1
    notes = [LEGEND] if flakes.tasks else []
    if not is_one and not changes:
        notes.append("the runs differ only in time")
    if not is_one and not flakes.tasks:
        notes.append("no task of these runs has more than one trial, so whether one is flaky is unknown")
    return Report(
        facts=runs[0].facts if is_one else list(map(_describe_run, runs)),
        tables=[
            *(_list_parts(runs[0].summary) if is_one and runs[0].summary else ()),
            Table(("",), [Row((line,)) for line in changes], "they differ in (older first):"),
            _list_flakes(flakes),
        ],
        notes=notes,
        content=lambda: {"runs": [one.content for one in runs], "differences": changes, **flakes.as_json()},
    )


def _list_parts(summary: RunSummary) -> Iterator[Table]:
    """Yield the pass rates by tag and by website, of which there are two or more."""
    for key, name in (("by_tag", "tag"), ("by_website", "website")):
        rows = []
        for part, rate in summary.rates_by(key).items():
            counts = map(str, (rate.passed, rate.failed, sum(rate.errored.values())))
            ends = None if rate.interval is None else (rate.interval.low, rate.interval.high)
            rows.append(Row((one_line(part, 40), *counts, format_rate(rate.value, ends))))
        head = (name, "passed", "failed", "errored", "pass rate (95 %)")
        yield Table(head, rows if len(rows) > 1 else [], aligns="lrrrl")


def _describe_run(one: RunDescription) -> str:
    counts = {kind: one.summary.count(kind) for kind in Verdict} if one.summary else {}
    told = ", ".join(f"{count:,} {kind}" for kind, count in counts.items() if count)
    return f"{format_path(one.run.folder)}: {told or 'no result'}"


def _list_flakes(found: Flakes) -> Table:
    """Return the tasks with several trials; those that always passed are in the counts only."""
    listed = [one for one in found.tasks if one[0].stability is not Stability.STABLE_PASS]
    counts = ", ".join(f"{found.counts[kind]:,} {kind}" for kind in WORST if found.counts[kind])
    about = [f"{format_count(len(found.tasks), 'task')} with several trials: {counts}"] if counts else []
    if counts and found.left_out:
        trials = format_count(found.left_out, "trial")
        about.append(f"note: {trials} left out: their rows were edited later, or two of the runs have them")
    if counts and found.once:
        about.append(f"note: {format_count(found.once, 'task')} with only one trial, not classified")
    head = ("task", "class", "passed", "failed", "errored", "runs")
    return Table(head, list(map(_make_row, listed)), about=about, aligns="llrrrl")


def _make_row(one: tuple[TaskRepeats, str]) -> Row:
    task, marks = one
    name = task.query_id if task.variant == "default" else f"{task.query_id} [{task.variant}]"
    counts = map(str, (task.passed, task.failed, task.errored))
    return Row((name, str(task.stability), *counts, marks[-MOST_MARKS:]))
