"""The list of runs: for a terminal, as plain values and as Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pytest_browsereval.features.runs.breaks import Break
from pytest_browsereval.features.runs.digest import Figures, RunDigest, State, VariantDigest
from pytest_browsereval.model.display import fit, one_line, percent, width_of, wrap_text
from pytest_browsereval.report.markdown import draw_table, quote_text
from pytest_browsereval.report.table import count_rest, format_interval
from pytest_browsereval.stats.statistics import Interval

WIDTH = 100

HEAD = ("started (UTC)", "eval", "agent", "pass rate, 95 % interval", "errored", "cost", "gate", "commit")

# So wide are the columns of names at least: the agent's has the rest.
LEAST = 12

Breaks = Mapping[tuple[str, str], Break]


def text(runs: Sequence[RunDigest], breaks: Breaks, most: int, width: int = WIDTH) -> Iterator[str]:
    """Yield the lines for a terminal, the newest run first.

    Args:
        runs: all, the newest first.
        breaks: where the line of a variant breaks.
        most: how many runs are listed.
        width: columns of the terminal.
    """
    listed = runs[:most]
    rows = [(run, variant, _cells(run, variant)) for run in listed for variant in run.variants or (None,)]
    widths = [
        max(width_of(cells[place]) for cells in (HEAD, *(row[2] for row in rows)))
        for place in range(len(HEAD))
    ]
    widths[1] = min(widths[1], 20)
    room = width - sum(widths) + widths[2] - 2 * (len(HEAD) - 1)
    widths[2] = min(widths[2], max(room, LEAST))
    yield _join(HEAD, widths)
    for run, variant, cells in rows:
        yield _join(cells, widths)
        for note in _notes(run, variant, breaks):
            yield from (f"    {line}" for line in wrap_text(note, width - 4))
    yield from count_rest(len(runs), most, " runs")


def _join(cells: Sequence[str], widths: Sequence[int]) -> str:
    return "  ".join(fit(cell, wide) for cell, wide in zip(cells, widths, strict=True)).rstrip()


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


def as_json(runs: Sequence[RunDigest], breaks: Breaks) -> dict[str, Any]:
    """Return all of the list as plain values."""
    return {"runs": [_run_json(run, breaks) for run in runs]}


def _run_json(run: RunDigest, breaks: Breaks) -> dict[str, Any]:
    content = run.model_dump(mode="json", exclude={"version", "stamps"})
    for one in content["variants"]:
        found = breaks.get((run.run, one["name"]))
        one["not_comparable_with"] = found and found.before
        one["changed"] = {} if found is None else {word: list(lines) for word, lines in found.changes.items()}
    return content


def markdown(runs: Sequence[RunDigest], breaks: Breaks, most: int) -> str:
    """Return the list as Markdown, the newest run first."""
    rows = []
    for run in runs[:most]:
        for variant in run.variants or (None,):
            notes = "; ".join(_notes(run, variant, breaks))
            rows.append([quote_text(cell) for cell in (*_cells(run, variant), notes)])
    return "\n".join(draw_table([*HEAD, "note"], rows)) + "\n"
