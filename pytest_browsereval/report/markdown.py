"""Text of rows, pages and models inside Markdown."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from pytest_browsereval.model.display import one_line

LONGEST = 400

_SPECIAL = "\\`*_[]|#!~$"


def quote_text(value: str, longest: int = LONGEST) -> str:
    """Return text as one line that means nothing in Markdown or HTML: no link, picture, table or mention.

    Args:
        value: the text.
        longest: characters that are shown before it is cut.
    """
    plain = one_line(value, longest).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    escaped = "".join(f"\\{c}" if c in _SPECIAL else c for c in plain)
    return escaped.replace("://", "\\://").replace("www.", "www\\.").replace("@", "@<!-- -->")


def draw_table(head: Sequence[str], rows: Iterable[Sequence[str]], aligns: str = "") -> Iterator[str]:
    """Yield the lines of a table, whose cells are quoted already.

    Args:
        head: names of the columns.
        rows: the cells.
        aligns: ``r`` for a column of numbers, ``l`` for any other; all are ``l`` by default.
    """
    marks = ("--:" if one == "r" else "---" for one in aligns or "l" * len(head))
    yield f"| {' | '.join(head)} |"
    yield f"|{'|'.join(marks)}|"
    yield from (f"| {' | '.join(row)} |" for row in rows)


def join_sections(sections: Sequence[str], room: int, note: str, size: Callable[[str], int] = len) -> str:
    """Return the first sections that fit, and a note that counts the others.

    Args:
        sections: the most important first; one that does not fit ends the text.
        room: what they may have together.
        note: behind the count.
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
