"""Tables of databases, and what differs between them."""

from __future__ import annotations

import contextlib
import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from pytest_browsereval.features.effects.diff import compare_states, describe_difference, list_tables
from pytest_browsereval.features.effects.reading import copy_database, read_changed, read_files, read_known
from pytest_browsereval.sites import SiteConfig
from pytest_browsereval.sites.state import StateConfig

STATE = StateConfig(files="**/*.json", max_bytes=1000)


def test_odd_values_of_databases(tmp_path: Path) -> None:
    """Bytes, infinite numbers, all texts that are no UTF-8 become JSON; indexes of a search are left out."""
    file = tmp_path / "odd.db"
    with sqlite3.connect(file) as database:
        database.execute("CREATE VIRTUAL TABLE notes USING fts5(text)")
        database.execute("CREATE TABLE notes_history (text)")
        database.execute("CREATE TABLE odd (a, b, c)")
        database.execute("INSERT INTO odd VALUES (x'00ff', CAST(x'ff41' AS TEXT), 9e999)")
    first = copy_database(file)
    tables = read_changed(b"", first)[1]
    assert {*tables} == {"notes_history", "odd"}
    assert r"\\xffA" in json.dumps(tables["odd"].rows, ensure_ascii=False, allow_nan=False)
    with sqlite3.connect(file) as database:
        database.execute("UPDATE odd SET b = CAST(x'fe41' AS TEXT)")
    found = compare_states(*read_changed(first, copy_database(file)))
    assert {(one.before or one.after)["b"] for one in found} == {r"\xfeA", r"\xffA"}


TABLES = {
    "WITHOUT ROWID": "CREATE TABLE t (a TEXT COLLATE NOCASE PRIMARY KEY, b) WITHOUT ROWID",
    "no key": "CREATE TABLE t (a TEXT COLLATE NOCASE, b)",
    "key": 'CREATE TABLE t (a TEXT COLLATE NOCASE PRIMARY KEY, b, "a""b" AS (b))',
    "two in the key": "CREATE TABLE t (a TEXT COLLATE NOCASE, b, PRIMARY KEY (b, a))",
}


def test_rows_of_databases_are_compared_where_they_are(tmp_path: Path, subtests: pytest.Subtests) -> None:
    """The case of a text counts, and which of two equal rows is gone does not; also without a rowid."""
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
                    before = copy_database(file)
                    database.executescript(change)
                found = compare_states(*read_changed(before, copy_database(file)))
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


def test_no_change_is_lost_by_names_and_kinds(subtests: pytest.Subtests) -> None:
    """Of tables and columns of one name each counts; true is not 1, 1.0 is; a list may become an object."""
    item, other = {"id": 1, "v": 1}, {"id": 2, "v": 1}
    cases: list[tuple[str, Any, Any, int]] = [
        ("tables", {"a.b": [item], "a": {"b": [item]}}, {"a.b": [{**item, "v": 2}], "a": {"b": [item]}}, 2),
        ("objects", {"a.b": {"x": 1}, "a": {"b": {"x": 1}}}, {"a.b": {"x": 2}, "a": {"b": {"x": 1}}}, 2),
        ("no name", {"x": 1, "": {"y": 1}}, {"x": 2, "": {"y": 1}}, 2),
        ("columns", [{**item, "a.b": 1, "a": {"b": 5}}], [{**item, "a.b": 2, "a": {"b": 5}}], 1),
        ("their order", [{**item, "a.b": 1, "a": {"b": 5}}], [{**item, "a": {"b": 5}, "a.b": 1}], 0),
        ("true", {"x": True}, {"x": 1}, 1),
        ("true in a list", [{**item, "x": [True]}], [{**item, "x": [1]}], 1),
        ("1.0", {"x": 1, "y": [1], "z": [item]}, {"x": 1.0, "y": [1.0], "z": [{"id": 1.0, "v": 1.0}]}, 0),
        ("a list becomes an object", {"a": [item, other]}, {"a": item}, 1),
        ("an empty list", {"a": []}, {"a": {"x": 1}}, 1),
    ]
    for title, before, after, count in cases:
        with subtests.test(title):
            assert len(compare_states(list_tables(before), list_tables(after))) == count


def test_no_file_hides_another(tmp_path: Path) -> None:
    """A list in a file and a folder may have one name, and a file may have a column `file`."""
    (tmp_path / "orders").mkdir()
    files = [tmp_path / "orders" / "1.json", tmp_path / "orders.json", tmp_path / "2.json"]
    contents = ({"s": 1}, [{"id": 1}], {"file": "a.pdf"})
    for number, changed in enumerate(({"s": 2}, [{"id": 2}], {"file": "b.pdf"})):
        for file, content in zip(files, contents, strict=True):
            file.write_text(json.dumps(content))
        before = read_files(tmp_path / "**" / "*.json", STATE)
        files[number].write_text(json.dumps(changed))
        found = compare_states(before, read_files(tmp_path / "**" / "*.json", STATE))
        assert found, files[number]


def test_nothing_is_written_next_to_a_database_at_rest(tmp_path: Path) -> None:
    """The check before a run reads the user's own file, also one with a log of writes."""
    file = tmp_path / "shop.db"
    with contextlib.closing(sqlite3.connect(file)) as database:
        database.execute("PRAGMA journal_mode=WAL")
        database.executescript("CREATE TABLE stock (n INT); INSERT INTO stock VALUES (1)")
    site = SiteConfig.model_validate(
        {"command": ["x", "{data}"], "data": ".", "state": {"sqlite": "{data}/shop.db"}}
    )
    assert read_known(site, tmp_path) == {"stock": ("n",)}
    assert [*tmp_path.iterdir()] == [file]
