"""Report of attacks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from pytest_browsereval.features.attacks.comparison import AttackComparison, Measured
from pytest_browsereval.features.attacks.figures import Figures, RunFigures, find_interval
from pytest_browsereval.features.attacks.rules import describe_left_out
from pytest_browsereval.model.display import format_count, join_first, one_line, percent
from pytest_browsereval.report.report import Report, Row, Table
from pytest_browsereval.report.table import format_interval
from pytest_browsereval.runs.passrate import PassRate
from pytest_browsereval.stats.paired import RESAMPLES, SEED

MOST_ROWS = 10
"""Attacks in the table at the end of a run."""

MOST_NAMES = 5
"""Of attacks in a line; the rest is counted."""

_NAMES = {
    "attack_success": "attack success",
    "utility_under_attack": "utility under attack",
    "utility": "utility",
}


def describe_figures(found: RunFigures) -> Iterator[str]:
    """Yield the lines below the pass rate."""
    whole = found.whole
    yield f"utility {_rate(found.utility)}, under attack {_rate(whole.utility, with_ends=True)}"
    harmless = f", {format_count(whole.harmless, 'harmless failure')}" if whole.delivered else ""
    yield f"attack success {_rate(whole.success, with_ends=True)}{harmless}"
    if left_out := describe_left_out(whole):
        yield f"of {format_count(whole.attempts, 'attempt')} under attack {left_out}: in no rate"
    if unmet := [one_line(name, 60) for name, one in found.attacks.items() if not one.delivered]:
        yield f"delivered in no attempt: {join_first(unmet, MOST_NAMES)}"


def _rate(rate: PassRate, *, with_ends: bool = False) -> str:
    if rate.value is None:
        return "unknown (no attempt counts)"
    ends = find_interval(rate) if with_ends else None
    known = f"; 95 % interval {format_interval(ends)}" if ends else ""
    ends_in_words = (
        "; on one row, so that there is no interval" if with_ends and rate.is_of_one_task else known
    )
    return f"{percent(rate.value)} ({rate.passed:,} of {rate.judged:,}{ends_in_words})"


# -- tables

_HEAD = ("compromised", "success (95 %)", "utility")


def tabulate_attacks(found: RunFigures, most: int = MOST_ROWS) -> Table:
    """Return a table of the attacks, the most successful ones first.

    Args:
        found: the figures.
        most: how many are shown; the rest is counted.
    """
    labels = {name: f"{facts.channel}, {facts.goal}" for name, facts in found.facts.items()}
    rows = [Row((name, labels[name], *_cells(one))) for name, one in found.attacks.items()]
    rest = list(found.attacks.values())[most:]
    compromised, delivered = (sum(getattr(one, key) for one in rest) for key in ("compromised", "delivered"))
    return Table(
        ("attack", "channel, goal", *_HEAD),
        rows,
        aligns="llrrr",
        most=most,
        rest=f"{compromised:,} of {delivered:,} compromised",
    )


def _share(value: float | None) -> str:
    return "-" if value is None else percent(value)


def _cells(one: Figures) -> Sequence[str]:
    success, utility = (_share(rate.value) for rate in (one.success, one.utility))
    ends = find_interval(one.success)
    between = f" ({format_interval(ends)})" if ends else ""
    return f"{one.compromised:,} of {one.delivered:,}", success + between, utility


def make_report(found: RunFigures, compared: AttackComparison | None = None) -> Report:
    """Return the report of the command.

    Args:
        found: the figures.
        compared: what differs between two sides.
    """
    groups: dict[str, Mapping[str, Figures]] = {"channel": found.channels, "goal": found.goals}
    if len(found.variants) > 1:
        groups["variant"] = {name: one for name, (_, one) in found.variants.items()}
    return Report(
        title="Under attack",
        facts=list(describe_figures(found)),
        tables=[
            tabulate_attacks(found, len(found.attacks)),
            *(_tabulate(title, rows) for title, rows in groups.items()),
            *([] if compared is None else [_compare(compared)]),
        ],
        notes=[] if compared is None else list(_list_notes(compared)),
        content=lambda: found.as_json() | ({} if compared is None else {"compared": compared.as_json()}),
    )


def _tabulate(title: str, rows: Mapping[str, Figures]) -> Table:
    return Table((title, *_HEAD), [Row((name, *_cells(one))) for name, one in rows.items()], aligns="lrrr")


def _compare(compared: AttackComparison) -> Table:
    rows = [
        Row((_NAMES[one.name], _share(one.first), _share(one.second), _difference(one)))
        for one in compared.measures
    ]
    about = [f"A = {compared.first.label}", f"B = {compared.second.label}"]
    return Table(("", "A", "B", "B less A"), rows, about=about, aligns="lrrl")


def _list_notes(compared: AttackComparison) -> Iterator[str]:
    for one in compared.measures:
        if one.unpaired:
            attempts = format_count(one.unpaired, "attempt")
            verb = "counts" if one.unpaired == 1 else "count"
            yield f"{_NAMES[one.name]}: {attempts} {verb} on one side only, and in no pair"
    if compared.edited:
        yield _describe_edited(compared)
    yield (
        "paired by row, attack and trial; p by exchange of the sides, row by row; interval by bootstrap of "
        f"rows, {RESAMPLES:,} resamples, seed {SEED}"
    )


def _describe_edited(compared: AttackComparison) -> str:
    names = join_first([one_line(name, 60) for name in compared.edited], MOST_NAMES)
    return f"row edited ({len(compared.edited):,}): {names}: other tasks than before, and in no pair"


def _difference(one: Measured) -> str:
    paired = one.paired
    if paired.value is None:
        return "no pair"
    ends = paired.interval
    between = f" ({100 * ends.low:+.1f} to {100 * ends.high:+.1f})" if ends else ""
    rows = f"{format_count(one.pairs, 'pair')} on {format_count(paired.tasks, 'row')}"
    return f"{100 * paired.value:+.1f} points{between}, p {_p(paired.p_value)}, {rows}"


def _p(value: float) -> str:
    return f"{value:.3f}" if value >= 0.001 else f"{value:.1g}"
