"""What a command or the end of a session reports: one model for the terminal, Markdown and JSON."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

MOST_ROWS = 20
"""Rows of a table that are shown; the rest is counted."""


@dataclass(frozen=True)
class Row:
    """A row of a table. Texts are raw: those who draw them escape what pages and models wrote."""

    cells: Sequence[str]
    sentence: str = ""
    """What a terminal shows in place of the cells: prose reads badly in narrow columns."""
    details: Sequence[str] = ()
    """Lines below the row; a column of their own in Markdown."""


@dataclass(frozen=True)
class Table:
    """Rows that are alike."""

    head: Sequence[str]
    """Names of the columns. One column without a name makes a list."""
    rows: Sequence[Row]
    title: str = ""
    about: Sequence[str] = ()
    """Lines above the table."""
    aligns: str = ""
    """``r`` for a column of figures, ``l`` for one of texts, which may be cut; all are ``l`` by default."""
    details: str = ""
    """The name of the column of details; empty if no row has any."""
    most: int = MOST_ROWS
    count: int = 0
    """How many rows there are, where only those that are shown are here."""
    rest: str = "--json FILE has them all"
    """Where the rows are that are not shown."""
    is_folded: bool = False
    """Whether Markdown shows no more than the title until it is clicked."""


@dataclass(frozen=True)
class Report:
    """A report: what it comes to, what that rests on, tables, and what a reader should know besides."""

    title: str = ""
    facts: Sequence[str | tuple[str, str]] = ()
    """Sentences, or names and what they stand for."""
    tables: Sequence[Table] = ()
    notes: Sequence[str] = ()
    content: Callable[[], Mapping[str, Any]] = dict
    """Returns all figures as plain values, for JSON."""

    @property
    def drawn(self) -> Sequence[Table]:
        """The tables that say something."""
        return [table for table in self.tables if table.rows or table.about]


def count_rest(table: Table) -> str:
    """Return how many rows are not shown; empty if all of them are."""
    left = max(len(table.rows), table.count) - table.most
    return f"and {left:,} more; {table.rest}" if left > 0 else ""
