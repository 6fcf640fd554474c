"""The page of the columns is the promise to their readers."""

from __future__ import annotations

import re
from pathlib import Path

from pytest_browsereval.features.tables.schema import COLUMNS

PAGE = Path(__file__).parents[3] / "docs/reference/tables.md"


def test_the_page_has_all_columns_in_their_order() -> None:
    """Each table's, after the key that all begin with."""
    text = PAGE.read_text(encoding="utf-8")
    head, *parts = re.split(r"^## `(\w+)`$", text, flags=re.MULTILINE)
    key = re.findall(r"`(\w+)`", head.split("begins with the same key")[1])
    assert dict(zip(parts[::2], map(_columns, parts[1::2]), strict=True)) == {
        name: list(columns)[len(key) :] for name, columns in COLUMNS.items()
    }
    assert {tuple(columns)[: len(key)] for columns in COLUMNS.values()} == {tuple(key)}


def _columns(part: str) -> list[str]:
    lines = re.findall(r"^\| (`.*?) \|", part, re.MULTILINE)
    return [name for line in lines for name in re.findall(r"`(\w+)`", line)]
