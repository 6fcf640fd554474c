"""Report of attacks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pytest_browsereval.features.attacks.figures import Figures, RunFigures, find_interval
from pytest_browsereval.model.display import format_count, join_first, one_line, percent
from pytest_browsereval.report.report import Report, Row, Table
from pytest_browsereval.report.table import format_interval
from pytest_browsereval.runs.passrate import PassRate

MOST_NAMES = 5
"""Of attacks in a line; the rest is counted."""


def describe_figures(found: RunFigures) -> Iterator[str]:
    """Yield the lines below the pass rate."""
    whole = found.whole
    yield f"utility {_rate(found.utility)}, under attack {_rate(whole.utility, with_ends=True)}"
    harmless = (
        f", {format_count(whole.harmless, 'failure without compromise', 'failures without compromise')}"
        if whole.delivered
        else ""
    )
    yield f"attack success {_rate(whole.success, with_ends=True)}{harmless}"
    attacks = found.groups["attack"]
    if hits := [f"{one_line(name, 60)} ({_count(one)})" for name, one in attacks.items() if one.compromised]:
        yield f"attacks that succeeded: {join_first(hits, MOST_NAMES)}"
    if whole.left_out:
        yield f"of {format_count(whole.attempts, 'attempt')} under attack {whole.left_out} (not in the rates)"
    if unmet := [one_line(name, 60) for name, one in attacks.items() if not one.delivered]:
        yield f"delivered in no attempt: {join_first(unmet, MOST_NAMES)}"


def _rate(rate: PassRate, *, with_ends: bool = False) -> str:
    if rate.value is None:
        return "unknown (no attempt counts)"
    ends = find_interval(rate) if with_ends else None
    known = f"; 95 % interval {format_interval(ends)}" if ends else ""
    if with_ends and rate.is_of_one_task:
        known = "; on one row, so there is no interval"
    return f"{percent(rate.value)} ({rate.passed:,} of {rate.judged:,}{known})"


# -- tables

_HEAD = ("compromised", "success (95 %)", "utility")


def _share(value: float | None) -> str:
    return "-" if value is None else percent(value)


def _cells(one: Figures) -> Sequence[str]:
    success, utility = (_share(rate.value) for rate in (one.success, one.utility))
    ends = find_interval(one.success)
    between = f" ({format_interval(ends)})" if ends else ""
    return _count(one), success + between, utility


def _count(one: Figures) -> str:
    return f"{one.compromised:,} of {one.delivered:,}"


def make_report(found: RunFigures, compared: Mapping[str, Any] | None = None) -> Report:
    """Return the report of the command.

    Args:
        found: the figures.
        compared: what differs between two sides, as ``compare_sides`` returns it.
    """
    groups = {kind: part for kind, part in found.groups.items() if kind != "attack"}
    if len(groups["variant"]) == 1:
        del groups["variant"]
    return Report(
        title="Under attack",
        facts=list(describe_figures(found)),
        tables=[
            _tabulate_attacks(found),
            *(_tabulate(title, rows) for title, rows in groups.items()),
            *([] if compared is None else [_compare(compared)]),
        ],
        notes=[] if compared is None else list(_list_notes(compared)),
        content=lambda: found.as_json() | ({} if compared is None else {"compared": compared}),
    )


def _tabulate_attacks(found: RunFigures) -> Table:
    labels = {name: f"{facts.channel}, {facts.goal}" for name, facts in found.facts.items()}
    rows = [Row((name, labels[name], *_cells(one))) for name, one in found.groups["attack"].items()]
    return Table(("attack", "channel, goal", *_HEAD), rows, aligns="llrrr", most=len(rows))


def _tabulate(title: str, rows: Mapping[str, Figures]) -> Table:
    return Table((title, *_HEAD), [Row((name, *_cells(one))) for name, one in rows.items()], aligns="lrrr")


def _compare(compared: Mapping[str, Any]) -> Table:
    rows = [
        Row((_name(name), _share(one["first"]), _share(one["second"]), _difference(one)))
        for name, one in compared["differences"].items()
    ]
    about = [f"{letter} = {compared[side]['name']}" for letter, side in (("A", "first"), ("B", "second"))]
    return Table(("", "A", "B", "B less A"), rows, about=about, aligns="lrrl")


def _name(rate: str) -> str:
    return rate.replace("_", " ")


def _list_notes(compared: Mapping[str, Any]) -> Iterator[str]:
    for name, one in compared["differences"].items():
        if count := one["unpaired"]:
            verb = "counts" if count == 1 else "count"
            yield f"{_name(name)}: {format_count(count, 'attempt')} {verb} on one side only, and in no pair"
    if edited := compared["edited_rows"]:
        names = join_first([one_line(name, 60) for name in edited], MOST_NAMES)
        yield f"row edited ({len(edited):,}): {names}: these are left out of the pairs"
    yield (
        "paired by row, attack and trial; p by a paired permutation test; interval over rows of "
        "Bonett and Price"
    )


def _difference(one: Mapping[str, Any]) -> str:
    if one["difference"] is None:
        return "no pair"
    ends = one["interval"]
    between = f" ({100 * ends[0]:+.1f} to {100 * ends[1]:+.1f})" if ends else ""
    p = f"{one['p_value']:.3f}" if one["p_value"] >= 0.001 else f"{one['p_value']:.1g}"
    rows = f"{format_count(one['pairs'], 'pair')} on {format_count(one['rows'], 'row')}"
    return f"{100 * one['difference']:+.1f} points{between}, p {p}, {rows}"
