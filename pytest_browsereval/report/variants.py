"""The table that ends a run of several variants: a line for each task, a column for each variant."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import repeat
from statistics import fmean

from pytest_browsereval.model.display import fit, format_count, width_of
from pytest_browsereval.model.grades import Verdict
from pytest_browsereval.report.table import (
    ASCII_MARKS,
    MARKS,
    MOST_ROWS,
    Line,
    format_time,
    only_printable,
    worst_first,
)
from pytest_browsereval.runs.summary import RunSummary
from pytest_browsereval.runs.trial import StoredTrial, total_cost

NOT_RUN = "not run"
_LEAST = 20
"""Columns that a task keeps next to many variants."""
_GAP = 2

Cells = Mapping[str, Sequence[StoredTrial]]
"""The trials of a task, or of all tasks, by the name of the variant."""


def has_variants(summary: RunSummary) -> bool:
    """Return whether a run has a variant to compare with another one."""
    return len({trial.last.variant for trial in summary.trials}) > 1


def draw_variants(
    summary: RunSummary, order: Iterable[str] = (), *, width: int = 80, ascii_only: bool = False
) -> Iterator[Line]:
    """Yield the lines, bad tasks first; variants that do not fit go into further tables below.

    Args:
        summary: of the run.
        order: of the variants, as the config has them.
        width: columns of the terminal.
        ascii_only: for terminals that cannot show the marks.
    """
    known = dict.fromkeys(trial.last.variant for trial in summary.trials)
    variants = list(dict.fromkeys([*(name for name in order if name in known), *known]))
    tasks: dict[str, dict[str, list[StoredTrial]]] = {}
    for trial in summary.trials:
        tasks.setdefault(trial.last.query_id, {}).setdefault(trial.last.variant, []).append(trial)
    ordered = sorted(tasks.items(), key=lambda task: worst_first(_worst(task[1])))
    shown = ordered
    if len(ordered) > MOST_ROWS:
        shown = [task for task in ordered if _worst(task[1]) is not Verdict.PASSED][:MOST_ROWS]
    whole: dict[str, list[StoredTrial]] = {}
    for trial in summary.plain:
        whole.setdefault(trial.last.variant, []).append(trial)
    names = [only_printable(name, ascii_only) for name, _ in shown]
    cut = "..." if ascii_only else "…"
    below = _figures(whole)
    for place, columns in enumerate(_split(variants, shown, below.values(), width)):
        if place:
            yield Line("")
        taken = sum(wide + _GAP for wide in columns.values())
        room = min(max(map(width_of, (*names, "mean steps"))), max(width - 2 - taken, _LEAST))
        widths = [room, *columns.values()]
        yield Line(f"  {_join(['task', *(only_printable(one, ascii_only) for one in columns)], widths, cut)}")
        for name, (_, cells) in zip(names, shown, strict=True):
            worst = _worst(cells)
            mark = (ASCII_MARKS if ascii_only else MARKS)[worst]
            yield Line(
                f"{mark} {_join([name, *(_cell(cells.get(one, ())) for one in columns)], widths, cut)}", worst
            )
        if len(ordered) > len(shown):
            yield Line(f"  {cut} {_count_rest(ordered[len(shown) :])}")
        for name, figures in below.items():
            yield Line(f"  {_join([name, *(figures.get(one, '') for one in columns)], widths, cut)}")


def _join(cells: Iterable[str], widths: Iterable[int], cut: str) -> str:
    return (" " * _GAP).join(map(fit, cells, widths, repeat(cut))).rstrip()


def _worst(cells: Cells) -> Verdict:
    return min((trial.last.verdict for own in cells.values() for trial in own), key=worst_first)


def _cell(trials: Sequence[StoredTrial]) -> str:
    """Return the verdict of a trial; of several, how many judged ones passed: ``2/3``, ``1/2, 1 errored``."""
    if len(trials) < 2:
        return str(trials[0].last.verdict) if trials else NOT_RUN
    verdicts = [trial.last.verdict for trial in trials]
    errored = verdicts.count(Verdict.ERRORED)
    judged = len(verdicts) - errored
    parts = [f"{verdicts.count(Verdict.PASSED)}/{judged}"] if judged else []
    return ", ".join([*parts, *([f"{errored} errored"] if errored else [])])


def _figures(whole: Cells) -> dict[str, dict[str, str]]:
    """Return the lines below the tasks, by their names: as in rates, derived rows are left out."""
    found: dict[str, dict[str, str]] = {"passed": {}, "mean steps": {}, "mean time": {}, "cost": {}}
    for name, own in whole.items():
        known = [one.last.total_duration_ms for one in own if one.last.total_duration_ms is not None]
        cost = total_cost(one.cost_usd for one in own)
        found["passed"][name] = _cell(own)
        found["mean steps"][name] = f"{fmean(one.last.total_steps for one in own):.1f}"
        found["mean time"][name] = format_time(fmean(known) if known else None)
        found["cost"][name] = "unknown" if cost is None else f"${cost:.4f}"
    if set(found["cost"].values()) <= {"$0.0000"}:
        del found["cost"]
    return found


def _split(
    variants: Sequence[str],
    shown: Sequence[tuple[str, Cells]],
    figures: Collection[Mapping[str, str]],
    width: int,
) -> Iterator[dict[str, int]]:
    """Yield the variants of each table with the widths of their columns."""
    columns: dict[str, int] = {}
    for variant in variants:
        texts = [_cell(cells.get(variant, ())) for _, cells in shown]
        texts += [variant, *(figure.get(variant, "") for figure in figures)]
        wide = min(max(map(width_of, texts)), width - 2 - _LEAST - _GAP)
        if columns and 2 + _LEAST + sum(known + _GAP for known in (*columns.values(), wide)) > width:
            yield columns
            columns = {}
        columns[variant] = wide
    yield columns


def _count_rest(tasks: Sequence[tuple[str, Cells]]) -> str:
    bad = sum(_worst(cells) is not Verdict.PASSED for _, cells in tasks)
    more = f", {bad} more with a failed or errored trial" if bad else ""
    return f"{format_count(len(tasks) - bad, 'task')} passed{more}"
