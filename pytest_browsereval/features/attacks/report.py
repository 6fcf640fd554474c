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

_HEAD = ("compromised", "success (95 %)", "utility")


def describe_figures(found: RunFigures) -> Iterator[str]:
    """Yield the lines below the pass rate."""
    whole, attacks = found.whole, found.groups["attack"]
    under = _describe_rate(whole.utility, with_ends=True)
    yield f"utility {_describe_rate(found.utility)}, under attack {under}"
    harmless = format_count(whole.harmless, "failure without compromise", "failures without compromise")
    more = f", {harmless}" if whole.delivered else ""
    yield f"attack success {_describe_rate(whole.success, with_ends=True)}{more}"
    if hits := [f"{one_line(name, 60)} ({_count(one)})" for name, one in attacks.items() if one.compromised]:
        yield f"attacks that succeeded: {join_first(hits, MOST_NAMES)}"
    if left := whole.left_out:
        yield f"of {format_count(whole.attempts, 'attempt')} under attack, {left} (not in the rates)"
    if unmet := [one_line(name, 60) for name, one in attacks.items() if not one.delivered]:
        yield f"delivered in no attempt: {join_first(unmet, MOST_NAMES)}"


def _describe_rate(rate: PassRate, *, with_ends: bool = False) -> str:
    if rate.value is None:
        return "unknown (no attempt counts)"
    ends = find_interval(rate) if with_ends else None
    known = f"; 95 % interval {format_interval(ends)}" if ends else ""
    return f"{percent(rate.value)} ({rate.passed:,} of {rate.judged:,}{known})"


def make_report(found: RunFigures, compared: Mapping[str, Any] | None = None) -> Report:
    """Return the report of the command.

    Args:
        found: the figures.
        compared: what differs between two sides, as ``compare_sides`` returns it.
    """
    groups = {kind: part for kind, part in found.groups.items() if kind != "attack"}
    if len(groups["variant"]) == 1:
        del groups["variant"]
    labels = {name: f"{facts.channel}, {facts.goal}" for name, facts in found.facts.items()}
    attacks = [Row((name, labels[name], *_cells(one))) for name, one in found.groups["attack"].items()]
    tables = [
        Table(("attack", "channel, goal", *_HEAD), attacks, aligns="llrrr", most=len(attacks)),
        *(
            Table((kind, *_HEAD), [Row((name, *_cells(one))) for name, one in part.items()], aligns="lrrr")
            for kind, part in groups.items()
        ),
    ]
    return Report(
        title="Under attack",
        facts=list(describe_figures(found)),
        tables=tables if compared is None else [*tables, _tabulate_differences(compared)],
        notes=[] if compared is None else list(_list_notes(compared)),
        content=lambda: found.as_json() | ({} if compared is None else {"compared": compared}),
    )


def _cells(one: Figures) -> Sequence[str]:
    ends = find_interval(one.success)
    between = f" ({format_interval(ends)})" if ends else ""
    return _count(one), _share(one.success.value) + between, _share(one.utility.value)


def _count(one: Figures) -> str:
    return f"{one.compromised:,} of {one.delivered:,}"


def _share(value: float | None) -> str:
    return "-" if value is None else percent(value)


def _tabulate_differences(compared: Mapping[str, Any]) -> Table:
    rows = [
        Row((_name(name), _share(one["first"]), _share(one["second"]), _describe_difference(one)))
        for name, one in compared["differences"].items()
    ]
    about = [f"{letter} = {compared[side]['name']}" for letter, side in (("A", "first"), ("B", "second"))]
    return Table(("", "A", "B", "B minus A"), rows, about=about, aligns="lrrl")


def _describe_difference(one: Mapping[str, Any]) -> str:
    if one["difference"] is None:
        return "no pair"
    low, high = one["interval"]
    p = f"{one['p_value']:.3f}" if one["p_value"] >= 0.001 else f"{one['p_value']:.1g}"
    rows = f"{format_count(one['pairs'], 'pair')} on {format_count(one['rows'], 'row')}"
    return f"{100 * one['difference']:+.1f} points ({100 * low:+.1f} to {100 * high:+.1f}), p {p}, {rows}"


def _name(rate: str) -> str:
    return rate.replace("_", " ")


def _list_notes(compared: Mapping[str, Any]) -> Iterator[str]:
    for name, one in compared["differences"].items():
        if one["unpaired"]:
            count = format_count(one["unpaired"], "attempt")
            yield f"{_name(name)}, on one side only and in no pair: {count}"
    yield (
        "paired by row, attack and trial, without edited rows and attacks; p by a paired permutation test; "
        "interval over rows of Bonett and Price"
    )
