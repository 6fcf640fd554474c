"""Report of all runs, over time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pytest_browsereval.features.runs.breaks import Break
from pytest_browsereval.features.runs.digest import Figures, RunDigest, State, VariantDigest
from pytest_browsereval.model.display import one_line, percent
from pytest_browsereval.report.report import Report, Row, Table
from pytest_browsereval.report.table import format_interval
from pytest_browsereval.stats.statistics import Interval

HEAD = ("started (UTC)", "eval", "agent", "pass rate, 95 % interval", "errored", "cost", "gate", "commit")

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
    left = len(runs) - most
    more = [f"and {left:,} more runs; --json FILE has them all"] if left > 0 else []
    return Report(
        tables=[Table(HEAD, rows, aligns="rllrrrll", details="note", most=len(rows))],
        notes=[*more, *notes],
        content=lambda: {"runs": [_run_json(run, breaks) for run in runs]},
    )


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
    return f"{percent(figures.rate)} ({format_interval(Interval(*figures.interval))})"


def format_cost(figures: Figures) -> str:
    """Return what trials cost."""
    if figures.cost_usd is None:
        return "unknown"
    return f"${figures.cost_usd:.4f}" if figures.cost_usd else "$0"


def _notes(run: RunDigest, variant: VariantDigest | None, breaks: Breaks) -> Iterator[str]:
    if run.state is not State.COMPLETE:
        yield f"{run.state}: {run.note}" if run.note else str(run.state)
    elif run.note and variant in (None, run.variants[0]):
        yield run.note
    if run.missed and variant in (None, run.variants[0]):
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
