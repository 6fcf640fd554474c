"""Report of a comparison of two runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pytest_browsereval.config_text import format_path
from pytest_browsereval.features.compare.compare import Change, Comparison, Pair, RunComparison
from pytest_browsereval.features.shared.paired import Judgement
from pytest_browsereval.features.shared.probes import count_probes
from pytest_browsereval.model.display import format_count, one_line, percent
from pytest_browsereval.model.grades import Verdict
from pytest_browsereval.report.report import MOST_ROWS, Report, Row, Table
from pytest_browsereval.report.table import format_interval
from pytest_browsereval.stats.statistics import Interval

LONGEST = 120
"""Characters of a name or a reason."""

VARIANTS = ("variant", "A", "B", "verdict")
"""The head of the table of variants."""

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
"""Of the kinds of tasks that are listed one by one, the most important first."""

_OPEN = frozenset({Change.LOST, Change.NEWLY_ERRORED, Change.ONLY_A})
"""Bad news is never folded away."""


def make_report(found: RunComparison) -> Report:
    """Return the report: the verdict, what it rests on, figures, then the tasks that changed."""
    head, *rows = figures(found.whole)
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
            *(_list_pairs(found, change) for change in _MARKS),
            Table(("",), lines, "other differences, A -> B", is_folded=True),
        ],
        content=found.as_json,
    )


def _list_pairs(found: RunComparison, change: Change) -> Table:
    pairs = found.whole.of(change)
    rows = [_make_row(pair, has_variants=bool(found.variants)) for pair in pairs[:MOST_ROWS]]
    title, is_folded = f"{change} ({len(pairs):,})", change not in _OPEN
    return Table(("task", "A", "B", "reason"), rows, title, count=len(pairs), is_folded=is_folded)


def _make_row(pair: Pair, *, has_variants: bool) -> Row:
    name = f"{pair.query_id} [{pair.variant}]" if has_variants else pair.query_id
    a, b = (side.outcome if side else "" for side in (pair.a, pair.b))
    reason = one_line(pair.telling.reason, LONGEST) if pair.telling else ""
    sentence = f"{_MARKS[pair.change]} {one_line(name, LONGEST)}: {' -> '.join(filter(None, (a, b)))}"
    return Row((name, a, b, reason), f"{sentence}. {reason}" if reason else sentence)


def describe_variant(name: str, part: Comparison) -> tuple[str, ...]:
    """Return a row of the table of variants: the name, the pass rates of A and B, and what they come to."""
    rates = (
        "none judged" if rate.value is None else f"{percent(rate.value)} ({rate.passed}/{rate.judged})"
        for rate in (part.rate_a, part.rate_b)
    )
    return (name, *rates, verdict(part))


def verdict(part: Comparison) -> str:
    """Return in words what the difference comes to."""
    one = part.paired
    if one.value is None:
        return "inconclusive: no task was judged in both runs"
    figures = f"{_points(one.value)} points ({one.confidence * 100:g} % {_ends(one.interval)})"
    if part.judgement is Judgement.INCONCLUSIVE:
        more = one.more_tasks(part.margin)
        need = "no number of such tasks would decide" if more is None else f"about {more:,} more tasks needed"
        return f"inconclusive: {figures}; {need}"
    if part.judgement is Judgement.NOT_WORSE:
        return f"B is not worse than A by more than {part.margin * 100:.1f} points: {figures}"
    return f"B is {part.judgement}: {figures}"


def basis(part: Comparison) -> str:
    """Return what the verdict rests on: so many tasks, the test, the interval."""
    one = part.paired
    p_value = f"{one.p_value:.3f}" if one.p_value >= 0.001 else f"{one.p_value:.1g}"
    return (
        f"paired over {format_count(one.tasks, 'task')} judged in both: {one.gained:,} gained, "
        f"{one.lost:,} lost, {one.tasks - one.gained - one.lost:,} alike; p {p_value} ({one.test}); interval "
        "of Bonett and Price"
    )


def counts(part: Comparison) -> str:
    """Return how many tasks came to what, and whose failures those are that passed and do not now."""
    parts = ", ".join(f"{part.counts[change]:,} {change}" for change in Change if part.counts[change])
    worse = [one for one in part.of(Change.LOST, Change.NEWLY_ERRORED) if one.a and one.a.passed]
    now = [trial.last for one in worse if one.b for trial in one.b.trials]
    # Trials of a task by one variant share a probe.
    first = {(one.query_id, one.variant): one for one in now if one.verdict is not Verdict.PASSED}
    if not any(one.probe for one in first.values()):
        return f"tasks: {parts}"
    return f"tasks: {parts}; {count_probes(first.values()).describe('regression')}"


# -- figures


def figures(part: Comparison) -> Iterator[tuple[str, ...]]:
    """Yield the table of the whole: a head, then name, A, B and change of each figure."""
    yield ("", "A", "B", "change, paired (95 %)")
    one, rates = part.paired, (part.rate_a, part.rate_b)
    change = f"{_points(one.value)} points ({_ends(one.interval)})" if one.value is not None else ""
    yield ("pass rate", *("none" if r.value is None else percent(r.value) for r in rates), change)
    yield ("  of judged", *(f"{rate.passed:,}/{rate.judged:,}" for rate in rates), "")
    yield ("  95 %", *(format_interval(rate.interval) for rate in rates), "")
    a, b = (rate.errors for rate in rates)
    if a.hits or b.hits:
        moved = f"{b.hits - a.hits:+,}, excluded from the pass rate"
        yield ("errored", f"{a.hits:,} of {a.of:,}", f"{b.hits:,} of {b.of:,}", moved)
    lacks = [rate.not_run for rate in rates]
    if any(lacks):
        yield ("not run", *("unknown" if count is None else f"{count:,}" for count in lacks), "")
    yield from (_measure(*item) for item in part.measures.items() if item[1]["a"] or item[1]["b"])


def _measure(name: str, one: Mapping[str, Any]) -> tuple[str, ...]:
    a, b, change = (_amount(name, one[key]) for key in ("a", "b", "change"))
    sign = "+" if one["change"] > 0 else ""
    ends = one["interval"]
    between = f" ({_amount(name, ends.low)} to {_amount(name, ends.high)})" if ends else ""
    return (f"{name} per trial", a, b, f"{sign}{change}{between}")


def _amount(measure: str, value: float) -> str:
    if measure == "cost":
        return f"{'-' if value < 0 else ''}${abs(value):,.4f}"
    return f"{value:.1f} s" if measure == "time" else f"{value:.1f}"


def _points(value: float) -> str:
    return f"{value * 100:+.1f}"


def _ends(interval: Interval | None) -> str:
    return f"{_points(interval.low)} to {_points(interval.high)}" if interval else "unknown"
