"""Figures of attacks for a terminal, and as Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from pytest_browsereval.analysis.passrate import PassRate
from pytest_browsereval.features.attacks.comparison import AttackComparison, Measured
from pytest_browsereval.features.attacks.figures import Figures, RunFigures, find_interval
from pytest_browsereval.features.attacks.rules import describe_left_out
from pytest_browsereval.features.paired import RESAMPLES, SEED
from pytest_browsereval.model.display import (
    fit,
    format_count,
    join_first,
    one_line,
    percent,
    width_of,
    wrap_text,
)
from pytest_browsereval.report.markdown import draw_table, quote_text
from pytest_browsereval.report.table import format_interval

WIDTH = 100

MOST_LINES = 12
"""Of the table at the end of a run, its head and the line that counts the rest included."""

MOST_NAMES = 5
"""Of attacks in a line; the rest is counted."""

_NAMES = {
    "attack_success": "attack success",
    "utility_under_attack": "utility under attack",
    "utility": "utility",
}


def describe_figures(found: RunFigures) -> Iterator[str]:
    """Yield the lines beside the pass rate."""
    whole = found.whole
    yield f"utility {_rate(found.utility)}, under attack {_rate(whole.utility, with_ends=True)}"
    harmless = f", {format_count(whole.harmless, 'harmless failure')}"
    yield f"attack success {_rate(whole.success, with_ends=True)}{harmless * bool(whole.delivered)}"
    if beside := describe_left_out(whole):
        yield f"of {format_count(whole.attempts, 'attempt')} under attack {beside}: in no rate"
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

_HEAD = ("delivered", "compromised", "attack success", "utility")


def draw_attacks(found: RunFigures, most: int | None = MOST_LINES, width: int = WIDTH) -> Iterator[str]:
    """Yield a table of the attacks, the most successful ones first.

    Args:
        found: the figures.
        most: lines that it may have; the rest is counted. None for all.
        width: columns of the terminal.
    """
    names = list(found.attacks)
    shown = names if most is None or len(names) < most else names[: most - 2]
    labels = {name: f"{found.facts[name].channel}, {found.facts[name].goal}" for name in shown}
    yield from _table("attack", {name: found.attacks[name] for name in shown}, width, labels)
    if rest := [found.attacks[name] for name in names[len(shown) :]]:
        compromised = sum(one.compromised for one in rest)
        delivered = sum(one.delivered for one in rest)
        yield (
            f"  and {format_count(len(rest), 'more attack')}: {compromised:,} of {delivered:,} compromised"
        )


def _table(
    title: str, rows: Mapping[str, Figures], width: int, labels: Mapping[str, str] | None = None
) -> Iterator[str]:
    shown = {name: one_line(name, 60) for name in rows}
    beside = {name: one_line(label, 60) for name, label in (labels or {}).items()}
    second = max((width_of(label) for label in (*beside.values(), "channel, goal")), default=0)
    room = max(width - 47 - (second + 2 if labels else 0), 8)
    first = min(max(width_of(name) for name in (*shown.values(), title)), room)
    more = f"  {fit('channel, goal', second)}" if labels else ""
    yield f"  {fit(title, first)}{more}  compromised  {'success (95 %)':<22} utility"
    for name, one in rows.items():
        more = f"  {fit(beside[name], second)}" if labels else ""
        yield f"  {fit(shown[name], first)}{more}  {_cells(one)}"


def _share(value: float | None) -> str:
    return "-" if value is None else percent(value)


def _cells(one: Figures) -> str:
    success, utility = (_share(rate.value) for rate in (one.success, one.utility))
    ends = find_interval(one.success)
    between = f"({format_interval(ends)})" if ends else ""
    counts = f"{one.compromised:,} of {one.delivered:,}"
    return f"{counts:>11}  {success:>6} {between:<15} {utility:>7}"


# -- the command


def short_text(found: RunFigures, width: int = WIDTH) -> Iterator[str]:
    """Yield what a session prints at its end."""
    for line in describe_figures(found):
        yield from wrap_text(line, width)
    yield from draw_attacks(found, width=width)


def text(found: RunFigures, compared: AttackComparison | None = None, width: int = WIDTH) -> Iterator[str]:
    """Yield the lines of the command."""
    for line in describe_figures(found):
        yield from wrap_text(line, width)
    yield ""
    yield from draw_attacks(found, None, width)
    for title, groups in _list_groups(found):
        yield ""
        yield from _table(title, groups, width)
    if compared is not None:
        yield ""
        yield from describe_comparison(compared, width)


def _list_groups(found: RunFigures) -> Iterator[tuple[str, Mapping[str, Figures]]]:
    yield "channel", found.channels
    yield "goal", found.goals
    if len(found.variants) > 1:
        yield "variant", {name: one for name, (_, one) in found.variants.items()}


def describe_comparison(compared: AttackComparison, width: int = WIDTH) -> Iterator[str]:
    """Yield what differs between two sides."""
    yield from wrap_text(f"A = {one_line(compared.first.label, 200)}", width)
    yield from wrap_text(f"B = {one_line(compared.second.label, 200)}", width)
    yield f"  {'':<20} {'A':>7} {'B':>7}  B less A"
    for one in compared.measures:
        a, b = (_share(rate) for rate in (one.first, one.second))
        yield f"  {_NAMES[one.name]:<20} {a:>7} {b:>7}  {_difference(one)}"
    for one in compared.measures:
        if one.unpaired:
            attempts = format_count(one.unpaired, "attempt")
            verb = "counts" if one.unpaired == 1 else "count"
            yield from wrap_text(
                f"{_NAMES[one.name]}: {attempts} {verb} on one side only, and in no pair", width
            )
    if compared.edited:
        yield from wrap_text(_say_edited(compared), width)
    yield from wrap_text(
        "paired by row, attack and trial; p by exchange of the sides, row by row; interval by bootstrap of "
        f"rows, {RESAMPLES:,} resamples, seed {SEED}",
        width,
    )


def _say_edited(compared: AttackComparison) -> str:
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


# -- Markdown


def markdown(found: RunFigures, compared: AttackComparison | None = None) -> str:
    """Return the report for a comment."""
    lines = ["### Under attack", "", *(f"- {quote_text(line)}" for line in describe_figures(found)), ""]
    labels = {name: f"{facts.channel}, {facts.goal}" for name, facts in found.facts.items()}
    rows = [(quote_text(name), quote_text(labels[name]), *_plain(one)) for name, one in found.attacks.items()]
    lines += draw_table(("attack", "channel, goal", *_HEAD), rows, "llrrrr")
    for title, groups in _list_groups(found):
        lines += [
            "",
            *draw_table((title, *_HEAD), [(quote_text(n), *_plain(f)) for n, f in groups.items()], "lrrrr"),
        ]
    if compared is not None:
        lines += ["", *_markdown_comparison(compared)]
    return "\n".join(lines) + "\n"


def _plain(one: Figures) -> Sequence[str]:
    success, utility = (_share(rate.value) for rate in (one.success, one.utility))
    ends = find_interval(one.success)
    between = f" ({format_interval(ends)})" if ends else ""
    return f"{one.delivered:,}", f"{one.compromised:,}", success + between, utility


def _markdown_comparison(compared: AttackComparison) -> Iterator[str]:
    yield f"A is {quote_text(compared.first.label)}, B is {quote_text(compared.second.label)}."
    yield ""
    rows = [
        (
            _NAMES[one.name],
            *(_share(rate) for rate in (one.first, one.second)),
            _difference(one),
        )
        for one in compared.measures
    ]
    yield from draw_table(("", "A", "B", "B less A"), rows, "lrrl")
    if compared.edited:
        yield from ("", quote_text(_say_edited(compared)))
