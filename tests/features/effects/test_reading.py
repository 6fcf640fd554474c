"""Tables of databases, and what differs between them."""

from __future__ import annotations

import contextlib
import json
import sqlite3
from pathlib import Path

from pytest_browsereval.features.effects.diff import compare_states, describe_difference, list_tables
from pytest_browsereval.features.effects.reading import read_database, watch_database


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


def test_a_write_to_a_database_is_seen_without_reading_it(tmp_path: Path) -> None:
    """With a journal and with a log of writes, of equal size, and where another file is put in its place."""
    for mode in ("DELETE", "WAL"):
        file, other = tmp_path / f"{mode}.db", tmp_path / "other.db"
        for one in (file, other):
            with contextlib.closing(sqlite3.connect(one)) as database:
                database.execute(f"PRAGMA journal_mode={mode}")
                database.executescript("CREATE TABLE stock (n INT); INSERT INTO stock VALUES (1)")
        with contextlib.closing(sqlite3.connect(file)) as app, watch_database(file) as mark:
            first = mark()
            assert read_database(file)["stock"].rows == [(1,)]
            assert mark() == first
            with app:
                app.execute("UPDATE stock SET n = 2")
            second = mark()
            assert second != first
            assert read_database(file)["stock"].rows == [(2,)]
            assert mark() == second
        with watch_database(file) as mark:
            first = mark()
            other.replace(file)
            assert mark() != first


def test_nothing_is_written_next_to_a_database_at_rest(tmp_path: Path) -> None:
    """The check before a run reads the user's own file, also one with a log of writes."""
    file = tmp_path / "shop.db"
    with contextlib.closing(sqlite3.connect(file)) as database:
        database.execute("PRAGMA journal_mode=WAL")
        database.executescript("CREATE TABLE stock (n INT); INSERT INTO stock VALUES (1)")
    assert read_database(file, is_at_rest=True)["stock"].rows == [(1,)]
    assert [*tmp_path.iterdir()] == [file]
