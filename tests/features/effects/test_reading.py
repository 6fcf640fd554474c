"""Tables of databases, and what differs between them."""

from __future__ import annotations

import contextlib
import json
import sqlite3
from pathlib import Path

import pytest

from pytest_browsereval.features.effects.diff import State, compare_states, describe_difference, list_tables
from pytest_browsereval.features.effects.reading import copy_database, read_changed


def read_all(file: Path, *, is_at_rest: bool = False) -> State:
    """Return all rows of a database."""
    return read_changed(b"", copy_database(file, is_at_rest=is_at_rest))[1]


def test_odd_values_of_databases(tmp_path: Path) -> None:
    """Bytes, texts that are not UTF-8 and infinite numbers become JSON; indexes of a search are left out."""
    file = tmp_path / "odd.db"
    with sqlite3.connect(file) as database:
        database.execute("CREATE VIRTUAL TABLE notes USING fts5(text)")
        database.execute("CREATE TABLE odd (a, b, c)")
        database.execute("INSERT INTO odd VALUES (x'00ff', CAST(x'ff41' AS TEXT), 9e999)")
    tables = read_all(file)
    assert [*tables] == ["odd"]
    assert "\ufffdA" in json.dumps(tables["odd"].rows, ensure_ascii=False, allow_nan=False)


TABLES = {
    "WITHOUT ROWID": "CREATE TABLE t (a TEXT COLLATE NOCASE PRIMARY KEY, b) WITHOUT ROWID",
    "no key": "CREATE TABLE t (a TEXT COLLATE NOCASE, b)",
    "key": 'CREATE TABLE t (a TEXT COLLATE NOCASE PRIMARY KEY, b, "a""b" AS (b))',
    "names of places": "CREATE TABLE t (a TEXT COLLATE NOCASE, b, rowid, _rowid_, oid)",
    "two in the key": "CREATE TABLE t (a TEXT COLLATE NOCASE, b, PRIMARY KEY (b, a))",
}


def test_rows_of_databases_are_compared_where_they_are(tmp_path: Path, subtests: pytest.Subtests) -> None:
    """The case of a text counts, and which of two equal rows is gone does not; so it is of named tables."""
    file = tmp_path / "t.db"
    changes = {
        "INSERT INTO t (a, b) VALUES ('d', 4)": ["added"],
        "UPDATE t SET a = 'A' WHERE b = 1": ["added", "removed"],
        "UPDATE t SET b = 5 WHERE b = 1": ["added", "removed"],
        "DELETE FROM t WHERE b = 2": ["removed"],
        "DELETE FROM t WHERE b = 2; VACUUM": ["removed"],
        "UPDATE t SET b = b": [],
        "DROP TABLE t": ["removed"] * 3,
    }
    for title, form in TABLES.items():
        for change, kinds in changes.items():
            with subtests.test(f"{title}: {change}"):
                file.unlink(missing_ok=True)
                with contextlib.closing(sqlite3.connect(file, isolation_level=None)) as database:
                    database.execute("PRAGMA journal_mode=WAL")
                    database.execute(form)
                    database.executescript("INSERT INTO t (a, b) VALUES ('a', 1), ('b', 2), ('c', 3)")
                    copies = [[copy_database(file), copy_database(file, ["t"])]]
                    database.executescript(change)
                    named = [] if "DROP" in change else [copy_database(file, ["t"])]
                    copies.append([copy_database(file), *named])
                for before, after in zip(*copies, strict=False):
                    found = compare_states(*read_changed(before, after))
                    shown = [one.kind for one in found]
                    # A changed row of a table without a key is another one.
                    expected = ["changed"] if "changed" in shown else kinds
                    assert sorted(shown) == expected, found


def test_rows_without_a_key_are_counted() -> None:
    """One of two equal rows that goes is one difference, and the order of rows is none."""
    before = list_tables({"log": ["a", "b", "a"], "cart": {"mug": 1}})
    after = list_tables({"log": ["b", "a"], "cart": {"mug": 1, "pen": 2}, "empty": []})
    found = compare_states(before, after)
    words = [describe_difference(one) for one in found]
    assert words == ["cart: pen was changed from null to 2", 'a row of log was removed: value "a"']


def test_nothing_is_written_next_to_a_database_at_rest(tmp_path: Path) -> None:
    """The check before a run reads the user's own file, also one with a log of writes."""
    file = tmp_path / "shop.db"
    with contextlib.closing(sqlite3.connect(file)) as database:
        database.execute("PRAGMA journal_mode=WAL")
        database.executescript("CREATE TABLE stock (n INT); INSERT INTO stock VALUES (1)")
    assert read_all(file, is_at_rest=True)["stock"].rows == [(1,)]
    assert [*tmp_path.iterdir()] == [file]
