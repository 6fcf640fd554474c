"""Tables of databases, and what differs between them."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

from pytest_browsereval.features.effects.diff import compare_states, describe_difference, list_tables
from pytest_browsereval.features.effects.reading import read_database


def test_odd_values_of_databases(tmp_path: Path) -> None:
    """Bytes, texts that are not UTF-8 and infinite numbers become JSON; indexes of a search are left out."""
    file = tmp_path / "odd.db"
    with sqlite3.connect(file) as database:
        database.execute("CREATE VIRTUAL TABLE notes USING fts5(text)")
        database.execute("CREATE TABLE odd (a, b, c)")
        database.execute("INSERT INTO odd VALUES (x'00ff', CAST(x'ff41' AS TEXT), 9e999)")
    tables = read_database(file)
    assert [*tables] == ["odd"]
    assert "\ufffdA" in json.dumps(tables["odd"].rows, ensure_ascii=False, allow_nan=False)


def test_rows_without_a_key_are_counted() -> None:
    """One of two equal rows that goes is one difference, and the order of rows is none."""
    before = list_tables({"log": ["a", "b", "a"], "cart": {"mug": 1}})
    after = list_tables({"log": ["b", "a"], "cart": {"mug": 1, "pen": 2}, "empty": []})
    found = compare_states(before, after)
    words = [describe_difference(one) for one in found]
    assert words == ["cart: pen was changed from null to 2", 'a row of log was removed: value "a"']
