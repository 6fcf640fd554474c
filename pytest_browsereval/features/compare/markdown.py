"""Two runs side by side as Markdown, fit for a comment: what matters most first, and never too long."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pytest_browsereval.features.compare.compare import Change, Pair, RunComparison
from pytest_browsereval.features.compare.report import LISTED, basis, counts, figures, task, verdict, why
from pytest_browsereval.model.display import percent
from pytest_browsereval.report.markdown import draw_table, join_sections, quote_text

# Characters. A comment on GitHub may have 65,536.
LONGEST = 60_000

# Tasks of a kind. A comment is read on a page, so it has room for more than the terminal.
MOST_LISTED = 30

REASON = 160

# Bad news is never folded away.
_OPEN = frozenset({Change.LOST, Change.NEWLY_ERRORED, Change.ONLY_A})


def markdown(found: RunComparison) -> str:
    """Return the report; sections that no longer fit are counted at its end."""
    return join_sections(list(_sections(found)), LONGEST, "are left out; the JSON report has all.")


def _sections(found: RunComparison) -> Iterator[str]:
    whole = found.whole
    yield f"### Compared: {quote_text(verdict(whole))}"
    names = f"A (baseline): {quote_text(found.a.name)} · B: {quote_text(found.b.name)}"
    lines = [names, *(quote_text(note) for note in found.notes), quote_text(counts(whole))]
    yield "\n".join(f"- {line}" for line in lines)
    head, *rows = figures(found)
    yield _table([head, *rows])
    if found.variants:
        yield _variants(found)
    for change in LISTED:
        pairs = whole.of(change)
        if pairs:
            yield _list_pairs(change, pairs, has_variants=bool(found.variants))
    if found.differences:
        lines = [f"- {quote_text(line)}" for line in found.differences[:MOST_LISTED]]
        yield _fold(f"What else differs ({len(found.differences)})", [*lines, *_rest(len(found.differences))])
    yield f"<sub>{quote_text(basis(whole))}</sub>"


def _variants(found: RunComparison) -> str:
    rows: list[tuple[str, ...]] = [("variant", "A", "B", "verdict")]
    for name, part in found.variants.items():
        rates = [
            "none judged" if rate.value is None else f"{percent(rate.value)} ({rate.passed}/{rate.judged})"
            for rate in (part.rate_a, part.rate_b)
        ]
        rows.append((name, *rates, verdict(part)))
    return _table(rows)


def _table(rows: Sequence[tuple[str, ...]]) -> str:
    head, *rest = ([quote_text(cell.strip()) for cell in row] for row in rows)
    return "\n".join(draw_table(head, rest, "lrrl"))


def _list_pairs(change: Change, pairs: Sequence[Pair], *, has_variants: bool) -> str:
    rows = []
    for pair in pairs[:MOST_LISTED]:
        side = why(pair)
        cells = (
            task(pair, has_variants=has_variants),
            pair.a.outcome if pair.a else "",
            pair.b.outcome if pair.b else "",
            side.reason if side else "",
        )
        rows.append([quote_text(cell, REASON) for cell in cells])
    title = f"{change[:1].upper()}{change[1:]} ({len(pairs):,})"
    lines = [*draw_table(("task", "A", "B", "reason"), rows), *_rest(len(pairs))]
    return "\n".join((f"**{title}**", "", *lines)) if change in _OPEN else _fold(title, lines)


def _fold(title: str, lines: Sequence[str]) -> str:
    return "\n".join((f"<details><summary>{title}</summary>", "", *lines, "", "</details>"))


def _rest(count: int) -> Iterator[str]:
    if count > MOST_LISTED:
        yield from ("", f"and {count - MOST_LISTED:,} more; the JSON report has them all")
