"""Causes for a terminal of 100 columns, and as Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pytest_browsereval.features.causes.groups import BAD, Causes, Group, Member
from pytest_browsereval.model.display import fit, format_count, one_line, percent, wrap_text
from pytest_browsereval.model.grades import Verdict
from pytest_browsereval.report.markdown import draw_table, quote_text
from pytest_browsereval.report.table import count_rest

WIDTH = 100

MOST_EXAMPLES = 3
"""Attempts that are named of each group; `--json` has all."""

MOST_DETAILS = 3

MOST_COLUMNS = 8
"""Columns that a table has; the newest."""

_LABELS = 30


def text(found: Causes, width: int = WIDTH) -> Iterator[str]:
    """Yield the lines for a terminal."""
    for verdict in BAD:
        groups = [one for one in found.groups if one.verdict is verdict]
        if not groups:
            continue
        yield f"{format_count(found.count(verdict), 'trial')} {verdict}, by cause:"
        for group in groups:
            share = percent(len(group.members) / found.count(verdict), 0)
            yield f"  {fit(group.label, _LABELS)} {len(group.members):>5,}  {share:>5}"
            yield from _about(group, found.find_name(group), width)
        if len(found.columns) > 1:
            yield ""
            yield from _table(found, groups, width)
        yield ""
    if (names := found.names) is not None:
        cost = "cost unknown" if names.cost_usd is None else f"${names.cost_usd:.4f}"
        requests = format_count(names.requests, "request")
        yield f"The judge is {names.model}: {requests}, {cost}. What it says is advice."
    if not found.groups:
        yield "All trials passed: there is no cause to show."


def _about(group: Group, name: str, width: int) -> Iterator[str]:
    lines = [f"the judge: {name}"] if name else []
    lines += [f"{count:,} of them: {one_line(detail)}" for detail, count in group.details[:MOST_DETAILS]]
    lines += [f"{name_member(one)}: {describe_member(one)}" for one in group.members[:MOST_EXAMPLES]]
    for line in (*lines, *count_rest(len(group.members), MOST_EXAMPLES)):
        yield from (f"    {part}" for part in wrap_text(line, width - 4))


def name_member(one: Member) -> str:
    """Return what a reader calls an attempt."""
    variant = one.column.variant
    more = [] if variant == "default" else [one_line(variant, 40)]
    more += [f"trial {one.trial}"] if one.trial > 1 else []
    return one_line(one.query_id, 60) + (f" [{', '.join(more)}]" if more else "")


def describe_member(one: Member) -> str:
    """Return where an attempt went wrong, and the steps that show it."""
    cause = one.cause
    shown = f" (steps {', '.join(map(str, cause.steps))})" if len(cause.steps) > 1 else ""
    return (cause.line or cause.detail or "no more is known") + shown


def _table(found: Causes, groups: Sequence[Group], width: int) -> Iterator[str]:
    columns = found.columns[-MOST_COLUMNS:]
    letters = [chr(ord("a") + place) for place in range(len(columns))]
    yield f"  {'':<{_LABELS}} " + "".join(f"{letter:>8}" for letter in letters)
    for group in groups:
        yield f"  {fit(group.label, _LABELS)} " + "".join(f"{group.count(one):>8,}" for one in columns)
    verdict = groups[0].verdict
    yield f"  {fit(f'all {verdict}', _LABELS)} " + "".join(
        f"{found.totals[one, verdict]:>8,}" for one in columns
    )
    for letter, one in zip(letters, columns, strict=True):
        yield one_line(f"  {letter} = {one.run}, {one.variant}", width)


def markdown(found: Causes) -> str:
    """Return the report for a comment."""
    lines: list[str] = []
    for verdict in BAD:
        groups = [one for one in found.groups if one.verdict is verdict]
        if groups:
            lines += [f"### {format_count(found.count(verdict), 'trial')} {verdict}, by cause", ""]
            lines += [*_markdown_table(found, groups, verdict), ""]
    return "\n".join(lines or ["### All trials passed"]) + "\n"


def _markdown_table(found: Causes, groups: Sequence[Group], verdict: Verdict) -> Iterator[str]:
    columns = found.columns[-MOST_COLUMNS:] if len(found.columns) > 1 else ()
    names = [quote_text(f"{one.run}, {one.variant}", 60) for one in columns]
    head = ("cause", "trials", "share", *names, "for example")
    rows = []
    for group in groups:
        first = group.members[0]
        share = percent(len(group.members) / found.count(verdict), 0)
        counts = [f"{group.count(one):,}" for one in columns]
        example = quote_text(f"{name_member(first)}: {describe_member(first)}", 300)
        label = f"{group.label}: {name}" if (name := found.find_name(group)) else group.label
        rows.append((quote_text(label), f"{len(group.members):,}", share, *counts, example))
    yield from draw_table(head, rows, "lrr" + "r" * len(columns) + "l")
