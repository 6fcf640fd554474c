"""Draws a report for a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from pytest_browsereval.model.display import fit, one_line, width_of, wrap_text
from pytest_browsereval.report.report import Report, Row, Table, count_rest

WIDTH = 100
"""Columns where the output is not a terminal, such as a pipe."""

NARROWEST = 80
"""Columns that reports of commands are drawn for at least."""

LEAST = 12
"""Columns that a text keeps where the terminal is narrow."""

_LONGEST = 2_000  # characters of a text: options may hold whole prompts
_GAP = "  "


def draw_report(report: Report, width: int = WIDTH) -> Iterator[str]:
    """Yield the lines, with an empty one between the parts.

    Args:
        report: the report.
        width: columns of the terminal.
    """
    head = [*_wrap(report.title, width), *_draw_facts(report.facts, width)]
    notes = [line for note in report.notes for line in _wrap(note, width)]
    parts = [head, *(list(draw_table(table, width)) for table in report.drawn), notes]
    for place, part in enumerate(filter(None, parts)):
        if place:
            yield ""
        yield from part


def _wrap(text: str, width: int, indent: str = "", more: str = _GAP) -> Iterator[str]:
    text, room = one_line(text, _LONGEST), width - len(indent)
    # A path stays in one line, so that it can be copied.
    has_path = any("/" in word and width_of(word) > room / 2 for word in text.split())
    lines = [text] if has_path else wrap_text(text, room, more)
    return (indent + line for line in lines if line)


def _draw_facts(facts: Sequence[str | tuple[str, str]], width: int) -> Iterator[str]:
    wide = max((width_of(fact[0]) for fact in facts if isinstance(fact, tuple)), default=0) + len(_GAP)
    before = ""
    for fact in facts:
        name, text = ("", fact) if isinstance(fact, str) else fact
        for line in _wrap(text, width - wide, more="") if name else _wrap(text, width):
            yield (fit("" if name == before else name, wide) if name else "") + line
            before = name


def draw_table(table: Table, width: int = WIDTH) -> Iterator[str]:
    """Yield the lines of a table.

    Args:
        table: the table.
        width: columns of the terminal.
    """
    yield from _wrap(table.title, width)
    for line in table.about:
        yield from _wrap(line, width)
    rows = table.rows[: table.most]
    if any(table.head) and not any(row.sentence for row in rows):
        yield from _draw_columns(table, rows, width)
    else:
        for row in rows:
            yield from _wrap(row.sentence or " ".join(row.cells), width)
            yield from _draw_details(row, width)
    yield from filter(None, [count_rest(table)])


def _draw_details(row: Row, width: int) -> Iterator[str]:
    for line in row.details:
        yield from _wrap(line, width, " " * 4)


def _draw_columns(table: Table, rows: Sequence[Row], width: int) -> Iterator[str]:
    grid = [table.head, *(row.cells for row in rows)]
    head, *lines = ([one_line(cell, 400) for cell in cells] for cells in grid)
    aligns = table.aligns.ljust(len(head), "l")
    widths = _find_widths([head, *lines], aligns, width)
    yield from _join(head, widths, aligns)
    for row, cells in zip(rows, lines, strict=True):
        yield from _join(cells, widths, aligns)
        yield from _draw_details(row, width)


def _find_widths(lines: Iterable[Sequence[str]], aligns: str, width: int) -> list[int]:
    """Return the widths of columns; where they do not fit, the widest texts are made narrower."""
    widths = [max(map(width_of, column)) for column in zip(*lines, strict=True)]
    texts = [place for place, align in enumerate(aligns) if align == "l"]
    over = sum(widths) + len(_GAP) * (len(widths) - 1) - width
    while over > 0 and texts and max(widths[place] for place in texts) > LEAST:
        widths[max(texts, key=widths.__getitem__)] -= 1
        over -= 1
    return widths


def _join(cells: Sequence[str], widths: Sequence[int], aligns: str) -> Iterator[str]:
    """Yield a row: a text in the last column goes on in further lines, any other is cut."""
    *before, last = (
        " " * (wide - width_of(cell)) + cell if align == "r" else fit(cell, wide)
        for cell, wide, align in zip(cells, widths, aligns, strict=True)
    )
    lines = list(_wrap(cells[-1], widths[-1], more="")) if aligns[-1] == "l" else [last]
    for place, line in enumerate(lines or [""]):
        start = [cell if place == 0 else " " * wide for cell, wide in zip(before, widths, strict=False)]
        yield _GAP.join([*start, line]).rstrip()
