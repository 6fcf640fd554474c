"""Report of a comparison of two runs."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from pytest_browsereval.config_text import format_path
from pytest_browsereval.features.compare.compare import Change, Comparison, Measure, Pair, RunComparison, Side
from pytest_browsereval.features.compare.content import as_json
from pytest_browsereval.features.shared.paired import Judgement, Method, Paired
from pytest_browsereval.features.shared.probes import count_probes
from pytest_browsereval.model.display import format_count, one_line, percent
from pytest_browsereval.model.grades import Verdict
from pytest_browsereval.report.report import MOST_ROWS, Report, Row, Table
from pytest_browsereval.report.table import format_interval
from pytest_browsereval.runs.trial import total_cost
from pytest_browsereval.stats.statistics import Interval

LONGEST = 120
"""Characters of a name or a reason."""

# Kinds of tasks that are listed one by one, the most important first.
LISTED = tuple(change for change in Change if change is not Change.UNCHANGED)

VARIANTS = ("variant", "A", "B", "verdict")
"""The head of the table of variants."""

_OPEN = frozenset({Change.LOST, Change.NEWLY_ERRORED, Change.ONLY_A})
"""Bad news is never folded away."""

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


def make_report(found: RunComparison) -> Report:
    """Return the report: the verdict, what it rests on, figures, then the tasks that changed."""
    head, *rows = figures(found)
    variants = [Row(describe_variant(*one)) for one in found.variants.items()]
    lines = [Row((line,)) for line in found.differences]
    return Report(
        title=verdict(found.whole),
        facts=[
            ("A", f"{format_path(found.a.folder)} (baseline)"),
            ("B", format_path(found.b.folder)),
            basis(found.whole),
            *(f"note: {note}" for note in found.notes),
            counts(found.whole),
        ],
        tables=[
            Table(head, list(map(Row, rows)), aligns="lrrl"),
            Table(VARIANTS, variants, aligns="lrrl"),
            *(_list_pairs(found, change) for change in LISTED),
            Table(("",), lines, "other differences, A -> B", is_folded=True),
        ],
        content=lambda: as_json(found),
    )


def _list_pairs(found: RunComparison, change: Change) -> Table:
    pairs, head = found.whole.of(change), ("task", "A", "B", "reason")
    rows = [_make_row(pair, has_variants=bool(found.variants)) for pair in pairs[:MOST_ROWS]]
    title = f"{change} ({len(pairs):,})"
    return Table(head, rows, title, count=len(pairs), is_folded=change not in _OPEN)


def describe_variant(name: str, part: Comparison) -> tuple[str, ...]:
    """Return a row of the table of variants: the name, the pass rates of A and B, and what they come to."""
    rates = (
        "none judged" if rate.value is None else f"{percent(rate.value)} ({rate.passed}/{rate.judged})"
        for rate in (part.rate_a, part.rate_b)
    )
    return (name, *rates, verdict(part))


def _make_row(pair: Pair, *, has_variants: bool) -> Row:
    name = f"{pair.query_id} [{pair.variant}]" if has_variants else pair.query_id
    a, b = (side.outcome if side else "" for side in (pair.a, pair.b))
    side = why(pair)
    reason = one_line(side.reason, LONGEST) if side else ""
    outcomes = " -> ".join(filter(None, (a, b)))
    label = one_line(name, LONGEST)
    sentence = f"{_MARKS[pair.change]} {label}: {outcomes}" + (f". {reason}" if reason else "")
    return Row((name, a, b, reason), sentence)


def verdict(part: Comparison) -> str:
    """Return in words what the difference comes to."""
    one, margin = part.paired, _points(part.margin)
    judgement = part.judgement
    if one.value is None:
        return "inconclusive: no task was judged in both runs"
    figures = f"{_format_change(one.value)} points ({one.confidence * 100:g} % {_ends(one.interval)})"
    if judgement is Judgement.INCONCLUSIVE:
        more = one.more_tasks(part.margin)
        need = "no number of tasks like these would" if more is None else f"about {more:,} more tasks needed"
        return f"inconclusive: {figures}; {need}"
    if judgement is Judgement.NOT_WORSE:
        return f"B is not worse than A by more than {margin} points: {figures}"
    small = ""
    if judgement is Judgement.WORSE and one.interval and one.interval.low >= -part.margin:
        small = f", though by less than the margin of {margin} points"
    return f"B is {judgement}{small}: {figures}"


def basis(part: Comparison) -> str:
    """Return what the verdict rests on: so many tasks, the test, the interval."""
    one = part.paired
    unchanged = one.tasks - one.gained - one.lost
    return (
        f"paired over {format_count(one.tasks, 'task')} judged in both: {one.gained:,} gained, "
        f"{one.lost:,} lost, {unchanged:,} alike; {_test(one)}; interval of Bonett and Price"
    )


def _test(one: Paired) -> str:
    if one.test is Method.MCNEMAR:
        return f"{one.test} p {_p(one.p_value)}"
    return f"p {_p(one.p_value)} ({one.test})"


def counts(part: Comparison) -> str:
    """Return how many tasks came to what; kinds without one are left out."""
    parts = (f"{part.counts[change]:,} {change}" for change in Change if part.counts[change])
    return "; ".join(filter(None, ("tasks: " + ", ".join(parts), describe_regressions(part))))


def describe_regressions(part: Comparison) -> str:
    """Return whose failures the tasks are that passed and do not now; empty where nothing was probed."""
    worse = [one for one in part.of(Change.LOST, Change.NEWLY_ERRORED) if one.a and one.a.passed]
    now = [trial.last for one in worse if one.b for trial in one.b.trials]
    # Trials of a task by one variant share a probe.
    first = {(one.query_id, one.variant): one for one in now if one.verdict is not Verdict.PASSED}
    if not any(one.probe for one in first.values()):
        return ""
    return count_probes(first.values()).describe("regression")


# -- figures


def figures(found: RunComparison) -> Iterator[tuple[str, ...]]:
    """Yield the table of the whole: a head, then name, A, B and change of each figure."""
    yield ("", "A", "B", "change, paired (95 %)")
    yield from _rows(found.whole)
    costs = found.list_costs()
    if any(any(cost != 0 for cost in side) for side in costs):
        a, b = (total_cost(side) for side in costs)
        change = "" if a is None or b is None else _money(b - a, sign=True)
        yield ("total cost", *map(_total, costs), change)


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
        moved = f"{errors[1].hits - errors[0].hits:+,}, excluded from the pass rate"
        yield ("errored", *(f"{share.hits:,} of {share.of:,}" for share in errors), moved)
    lacks = [rate.not_run for rate in rates]
    if any(lacks):
        yield ("not run", *("unknown" if count is None else f"{count:,}" for count in lacks), "")
    yield from (_measure(measure) for measure in part.measures if measure.a or measure.b)


def _measure(one: Measure) -> tuple[str, ...]:
    if one.change is None:
        return (one.name, "unknown", "unknown", "")
    a, b, change = (_amount(one, value) for value in (one.a, one.b, one.change))
    sign = "+" if one.change > 0 else ""
    ends = ""
    if one.interval:
        ends = f" ({_amount(one, one.interval.low)} to {_amount(one, one.interval.high)})"
    return (f"{one.name} per trial", a, b, f"{sign}{change}{ends}")


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


def _points(value: float) -> str:
    return f"{value * 100:.1f}"


def _format_change(value: float) -> str:
    return f"{value * 100:+.1f}"


def _ends(interval: Interval | None) -> str:
    return f"{_format_change(interval.low)} to {_format_change(interval.high)}" if interval else "unknown"


def _p(value: float) -> str:
    return f"{value:.3f}" if value >= 0.001 else f"{value:.1g}"


def why(pair: Pair) -> Side | None:
    """Return the side whose reason explains a change."""
    if pair.change in (Change.GAINED, Change.NO_LONGER_ERRORED) or pair.b is None:
        return pair.a
    return pair.b
