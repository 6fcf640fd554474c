"""Comparison of two runs, for a terminal of 80 columns."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from pytest_browsereval.analysis.summary import total_cost
from pytest_browsereval.config_text import format_path
from pytest_browsereval.features.compare.compare import Change, Comparison, Measure, Pair, RunComparison, Side
from pytest_browsereval.features.paired import RESAMPLES, SEED, Judgement, Method, Paired
from pytest_browsereval.model.display import fit, format_count, one_line, percent, wrap_text
from pytest_browsereval.report.table import count_rest, format_interval
from pytest_browsereval.stats.statistics import Interval

WIDTH = 80

# Tasks of a kind, and differences; `--json` has all of them.
MOST_LISTED = 10

# Kinds of tasks that are listed one by one, the most important first.
LISTED = tuple(change for change in Change if change is not Change.UNCHANGED)

_MARKS = {
    Change.LOST: "-",
    Change.NEWLY_ERRORED: "!",
    Change.ONLY_A: "<",
    Change.EDITED: "~",
    Change.GAINED: "+",
    Change.NO_LONGER_ERRORED: "*",
    Change.ONLY_B: ">",
    Change.STILL_ERRORED: "!",
}


def text(found: RunComparison, width: int = WIDTH) -> Iterator[str]:
    """Yield the lines for a terminal.

    Args:
        found: the comparison.
        width: columns of the terminal.
    """
    yield f"A  {one_line(format_path(found.a.folder))}  (baseline)"
    yield f"B  {one_line(format_path(found.b.folder))}"
    yield ""
    yield from wrap_text(verdict(found.whole), width)
    yield from wrap_text(basis(found.whole), width)
    for note in found.notes:
        yield from wrap_text(f"note: {one_line(note)}", width)
    yield ""
    for row in figures(found):
        yield _columns(row)
    for name, part in found.variants.items():
        yield ""
        yield from wrap_text(f"{one_line(name, 60)}: {verdict(part)}", width)
        yield from (_columns(row) for row in _rows(part))
    yield ""
    yield from wrap_text(counts(found.whole), width)
    for change in LISTED:
        yield from _list_pairs(change, found.whole.of(change), width, has_variants=bool(found.variants))
    if found.differences:
        yield ""
        yield "what else differs, A -> B"
        for line in found.differences[:MOST_LISTED]:
            yield from wrap_text(f"  {one_line(line)}", width, "    ")
        yield from (f"  {line}" for line in count_rest(len(found.differences), MOST_LISTED))


def verdict(part: Comparison) -> str:
    """Return in words what the difference comes to."""
    one, margin = part.paired, _points(part.margin)
    judgement = part.judgement
    if one.value is None:
        return "cannot tell: no task was judged in both runs"
    figures = f"{_format_change(one.value)} points ({one.confidence * 100:g} % {_ends(one.interval)})"
    if judgement is Judgement.CANNOT_TELL:
        more = one.more_tasks(part.margin)
        need = "no number of tasks like these would" if more is None else f"about {more:,} more tasks needed"
        return f"cannot tell: {figures}; {need}"
    if judgement is Judgement.NOT_WORSE:
        return f"B is not worse than A by more than {margin} points: {figures}"
    small = ""
    if judgement is Judgement.WORSE and one.interval and one.interval.low >= -part.margin:
        small = f", though by less than the margin of {margin} points"
    return f"B is {judgement}{small}: {figures}"


def basis(part: Comparison) -> str:
    """Return what the verdict rests on: so many tasks, the test, the bootstrap with its seed."""
    one = part.paired
    unchanged = one.tasks - one.gained - one.lost
    return (
        f"paired over {format_count(one.tasks, 'task')} judged in both: {one.gained:,} gained, "
        f"{one.lost:,} lost, {unchanged:,} alike; {_test(one)}; bootstrap of tasks, {RESAMPLES:,} resamples, "
        f"seed {SEED}"
    )


def _test(one: Paired) -> str:
    if one.test is Method.MCNEMAR:
        return f"{one.test} p {_p(one.p_value)}"
    return f"p {_p(one.p_value)} by {one.test}"


def counts(part: Comparison) -> str:
    """Return how many tasks came to what; kinds without one are left out."""
    parts = (f"{part.counts[change]:,} {change}" for change in Change if part.counts[change])
    return "tasks: " + ", ".join(parts)


# -- figures


def figures(found: RunComparison) -> Iterator[tuple[str, ...]]:
    """Yield the table of the whole: a head, then name, A, B and change of each figure."""
    yield ("", "A", "B", "change, paired (95 %)")
    yield from _rows(found.whole)
    costs = found.list_costs()
    if any(any(cost != 0 for cost in side) for side in costs):
        a, b = (total_cost(side) for side in costs)
        change = "" if a is None or b is None else _money(b - a, sign=True)
        yield ("cost in all", *map(_total, costs), change)


def _rows(part: Comparison) -> Iterator[tuple[str, ...]]:
    one = part.paired
    change = f"{_format_change(one.value)} points ({_ends(one.interval)})" if one.value is not None else ""
    rates = (part.rate_a, part.rate_b)
    yield ("pass rate", *("none" if r.value is None else percent(r.value) for r in rates), change)
    yield ("  of judged", *(f"{rate.passed:,}/{rate.judged:,}" for rate in rates), "")
    yield ("  95 %", *(format_interval(rate.interval) for rate in rates), "")
    grouped = [None if rate.value in (0, 1) else rate.by_site for rate in rates]
    if any(grouped):
        yield ("  by site", *(format_interval(each.interval) if each else "unknown" for each in grouped), "")
    errors = [rate.errors for rate in rates]
    if any(share.hits for share in errors):
        moved = f"{errors[1].hits - errors[0].hits:+,}, in neither rate"
        yield ("errored", *(f"{share.hits:,} of {share.of:,}" for share in errors), moved)
    lacks = [rate.not_run for rate in rates]
    if any(lacks):
        yield ("not run", *("unknown" if count is None else f"{count:,}" for count in lacks), "")
    yield from (_measure(measure) for measure in part.measures if measure.a or measure.b)


def _measure(one: Measure) -> tuple[str, ...]:
    if one.change is None:
        return (one.name, "unknown", "unknown", "")
    a, b, change = (_amount(one, value) for value in (one.a, one.b, one.change))
    sign = "+" * (one.change > 0)
    ends = ""
    if one.interval:
        ends = f" ({_amount(one, one.interval.low)} to {_amount(one, one.interval.high)})"
    return (f"{one.name} a trial", a, b, f"{sign}{change}{ends}")


def _amount(one: Measure, value: float | None) -> str:
    if value is None:
        return "unknown"
    if one.unit == "usd":
        return _money(value)
    return f"{value:.1f} {one.unit}".rstrip()


def _total(costs: Sequence[float | None]) -> str:
    """Return what trials cost together: at least that, where it is not known of some."""
    known = [cost for cost in costs if cost is not None]
    least = ">= " if known and len(known) < len(costs) else ""
    return f"{least}{_money(math.fsum(known) if known or not costs else None)}"


def _money(value: float | None, *, sign: bool = False) -> str:
    if value is None:
        return "unknown"
    mark = "-" if value < 0 else "+" if sign else ""
    return f"{mark}${abs(value):.4f}" if abs(value) < 10 else f"{mark}${abs(value):,.2f}"


def _columns(row: tuple[str, ...]) -> str:
    name, a, b, change = row
    return f"{fit(name, 13)} {a:>15} {b:>15}  {change}".rstrip()


def _points(value: float) -> str:
    return f"{value * 100:.1f}"


def _format_change(value: float) -> str:
    return f"{value * 100:+.1f}"


def _ends(interval: Interval | None) -> str:
    return f"{_format_change(interval.low)} to {_format_change(interval.high)}" if interval else "unknown"


def _p(value: float) -> str:
    return f"{value:.3f}" if value >= 0.001 else f"{value:.1g}"


# -- tasks


def _list_pairs(change: Change, pairs: Sequence[Pair], width: int, *, has_variants: bool) -> Iterator[str]:
    if not pairs:
        return
    yield ""
    yield f"{change} ({len(pairs):,})"
    for pair in pairs[:MOST_LISTED]:
        message = f"{_MARKS[change]} {task(pair, has_variants=has_variants)}: {sides(pair)}"
        yield from wrap_text(f"  {message}", width, "      ")
    yield from (f"  {line}" for line in count_rest(len(pairs), MOST_LISTED))


def task(pair: Pair, *, has_variants: bool) -> str:
    """Return the name of a task, with its variant where there are several."""
    name = one_line(pair.query_id, 60)
    return f"{name} [{one_line(pair.variant, 60)}]" if has_variants else name


def sides(pair: Pair) -> str:
    """Return what became of a task: both verdicts, and why the one that is worse or newer is what it is."""
    message = " -> ".join(side.outcome for side in (pair.a, pair.b) if side is not None)
    side = why(pair)
    return f"{message}. {one_line(side.reason, 120)}" if side is not None and side.reason else message


def why(pair: Pair) -> Side | None:
    """Return the side whose reason explains a change."""
    if pair.change in (Change.GAINED, Change.NO_LONGER_ERRORED) or pair.b is None:
        return pair.a
    return pair.b
