"""Draws a report as Markdown, fit for a comment: what pages and models wrote is text there, and no more."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from pytest_browsereval.model.display import one_line
from pytest_browsereval.report.report import Report, Row, Table, count_rest

LONGEST = 400

MOST_CHARACTERS = 60_000
"""Of a report. A comment on GitHub may have 65,536."""

_SPECIAL = "\\`*_[]|#!~$"


def quote_text(value: str) -> str:
    """Return text as one line that means nothing in Markdown or HTML: no link, picture, table or mention."""
    plain = one_line(value, LONGEST).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    escaped = "".join(f"\\{c}" if c in _SPECIAL else c for c in plain)
    return escaped.replace("://", "\\://").replace("www.", "www\\.").replace("@", "@<!-- -->")


def draw_report(report: Report, room: int = MOST_CHARACTERS) -> str:
    """Return a report; sections that no longer fit are counted at its end.

    Args:
        report: the report.
        room: characters that it may have.
    """
    return join_sections(list(list_sections(report)), room, "are left out; the JSON report has all.")


def list_sections(report: Report) -> Iterator[str]:
    """Yield a report in sections, the most important first."""
    facts = (fact if isinstance(fact, str) else ": ".join(fact) for fact in report.facts)
    heading = f"### {quote_text(report.title)}" if report.title else ""
    yield from filter(None, [heading, "\n".join(f"- {quote_text(fact)}" for fact in facts)])
    yield from (_draw_section(table, is_headed=not report.title) for table in report.drawn)
    yield from map(quote_text, report.notes)


def _draw_section(table: Table, *, is_headed: bool) -> str:
    title = quote_text(table.title)
    rows = table.rows[: table.most]
    if any(table.head):
        more = [table.details] if table.details else []
        head = [*map(quote_text, table.head), *more]
        cells = ([*map(quote_text, row.cells), *(_join_details(row) for _ in more)] for row in rows)
        marks = ["--:" if align == "r" else "---" for align in table.aligns.ljust(len(head), "l")]
        lines = [f"| {' | '.join(line)} |" for line in (head, *cells)]
        lines.insert(1, f"|{'|'.join(marks)}|")
    else:
        lines = [f"- {quote_text(row.cells[0])}" for row in rows]
    parts = [*map(quote_text, table.about), "\n".join(lines), count_rest(table)]
    body = "\n\n".join(filter(None, parts))
    if table.is_folded:
        return f"<details><summary>{title}</summary>\n\n{body}\n\n</details>"
    heading = f"### {title}" if is_headed else f"**{title}**"
    return f"{heading}\n\n{body}" if title else body


def _join_details(row: Row) -> str:
    return "<br>".join(map(quote_text, row.details))


def join_sections(sections: Sequence[str], room: int, note: str, size: Callable[[str], int] = len) -> str:
    """Return the first sections that fit, and a note that counts the others.

    Args:
        sections: the most important first; one that does not fit ends the text.
        room: what they may have together.
        note: after the count.
        size: measures a section.
    """
    kept: list[str] = []
    for section in sections:
        room -= size(section) + 2
        if room < 0:
            break
        kept.append(section)
    if left := len(sections) - len(kept):
        kept.append(f"{left} more sections {note}")
    return "\n\n".join(kept) + "\n"
