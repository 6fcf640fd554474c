"""Reads the state of a site: a database, an address, storage of the window, files, or a program's output."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import sqlite3
import sys
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, cast

from pydantic import JsonValue

from pytest_browsereval.browsers.base import Window
from pytest_browsereval.browsers.playwright.origins import origin_of
from pytest_browsereval.browsers.playwright.waiting import playwright_error
from pytest_browsereval.browsers.playwright.windows import PlaywrightWindow
from pytest_browsereval.errors import ErrorSource, Fault, nearest
from pytest_browsereval.features.effects.diff import (
    Difference,
    State,
    Table,
    compare_states,
    describe_difference,
    leaves_nothing,
    list_tables,
)
from pytest_browsereval.features.shared.verifiers import run_verifier
from pytest_browsereval.graders.observing import fetch_json, live_page, parse_state, read_in_time
from pytest_browsereval.graders.page_values import NoValue
from pytest_browsereval.model.display import join_first
from pytest_browsereval.sites import SiteConfig, fill
from pytest_browsereval.sites.state import StateConfig
from pytest_browsereval.temporary import private_folder

SETTLE_S, PAUSE_S = 5.0, 0.1
"""How long a state may take until two readings are equal, and how far these lie apart."""
COMMAND_S = 30.0
MOST_KNOWN = 12
"""Names that an error lists."""
FILE = "file"
"""The column of a folder that has the names of its files; of a file that has one, it is ``file.file``."""

Schema = Mapping[str, Collection[str] | None]
"""The columns of tables; None where they are not known."""


class Unreadable(ValueError):
    """Why a state cannot be read."""


@dataclass(frozen=True)
class Source:
    """The state of a site in one attempt."""

    name: str
    site: SiteConfig
    state: StateConfig
    """Where it is read."""
    urls: Mapping[str, str]
    data: Path | None
    base_dir: Path
    window: Window

    @property
    def _pages(self) -> PlaywrightWindow:
        assert isinstance(self.window, PlaywrightWindow)  # noqa: S101 others were refused
        return self.window

    @property
    def is_open(self) -> bool:
        """Whether the window shows a page of the site, as far as its state needs one."""
        return self.state.storage is None or origin_of(self.window.url) == origin_of(self.urls[self.name])

    async def read(self) -> State | bytes:
        """Return the state as it is now: tables, or the copy of a database.

        Raises:
            Fault: source *site*: it cannot be read, or it is too large.
        """
        state, place = self.state, self.state.fill_place(self.base_dir, self.data)
        try:
            if state.sqlite is not None:
                return await asyncio.to_thread(copy_database, place, state.max_bytes)
            if state.files is not None:
                return await asyncio.to_thread(read_files, place, state)
            return list_tables(await self._read_value(), state.key)
        except (OSError, sqlite3.Error, NoValue, Unreadable, Fault, playwright_error()) as error:
            raise self.fault(f"cannot be read: {error}") from error

    async def read_settled(self) -> State | bytes:
        """Return the state once two readings are equal.

        Raises:
            Fault: source *site*: it cannot be read, or it does not come to rest.
        """
        loop = asyncio.get_running_loop()
        deadline, last = loop.time() + SETTLE_S, await self.read()
        while True:
            await asyncio.sleep(PAUSE_S)
            state = await self.read()
            if not (moved := await asyncio.to_thread(self.compare, last, state)):
                return state
            if loop.time() >= deadline:
                what = describe_difference(moved[0], with_values=False)
                hint = "Name what always changes in `volatile`."
                raise self.fault(f"was still changing after {SETTLE_S:g} s: {what}. {hint}")
            last = state

    def compare(self, before: State | bytes, after: State | bytes) -> list[Difference]:
        """Return what differs between two states of the site.

        Raises:
            Fault: source *site*: one is damaged.
        """
        if isinstance(before, bytes) and isinstance(after, bytes):
            try:
                before, after = read_changed(before, after)
            except sqlite3.Error as error:
                raise self.fault(f"cannot be compared: {error}") from error
        old, new = (
            {name: one for name, one in each.items() if not self.state.tables or name in self.state.tables}
            for each in (cast("State", before), cast("State", after))
        )
        return compare_states(old, new, self.site.volatile)

    async def check_compared(self, before: State | bytes, after: State | bytes) -> None:
        """Check that what the config names was there before or after, so that a change would have been seen.

        Raises:
            Fault: source *site*: it was not; with what there is.
        """
        states = (read_schema(one) if isinstance(one, bytes) else one for one in (before, after))
        known, tables = {name for one in states for name in one}, self.state.tables
        if not known:
            why = await self._find_others()
        elif not {*tables} <= known:
            why = describe_missing(tables, known)
        else:
            is_blind = leaves_nothing(self.site.volatile, tables or known)
            why = "`volatile` leaves nothing of it" if is_blind else ""
        if why:
            raise self.fault(f"was missing when the agent began or after it ended: {why}")

    async def _find_others(self) -> str:
        """Return what is in the place of a state that is not there; empty if nothing is."""
        if self.state.storage is not None:
            wanted = self.state.storage.partition(":")[2]
            names = [one["name"] for one in await self._list_stored()]
            why = f"local storage has no key {wanted!r} (if it comes later, write null in `setup_script`)"
        elif self.state.files is not None:
            root, wanted = split_pattern(self.state.fill_place(self.base_dir, self.data))
            names = [one.name for one in root.rglob("*") if one.is_file() and not one.name.startswith(".")]
            why = f"no file matches {wanted!r}"
        else:
            return "it is null, or has no table. Write {} for one that is empty"
        return f"{why}.{_list_known(wanted, names)}" if names else ""

    def fault(self, why: str) -> Fault:
        """Return the error of a state."""
        return Fault(ErrorSource.SITE, f"the state of the site {self.name!r} {why}")

    async def _read_value(self) -> JsonValue:
        state, window = self.state, self.window
        if state.url is not None:
            url = fill(state.url, self.urls)
            cookies: list[Any] = []
            if isinstance(window, PlaywrightWindow):
                cookies = await read_in_time(window, "the cookies", window.context.cookies([url]))
            named = {str(one["name"]): str(one["value"]) for one in cookies}
            return await fetch_json(url, named, state.max_bytes)
        if state.storage is not None:
            text = await self._read_storage(state.storage.partition(":")[2])
            value = None if text is None else parse_state(_check_size(text, state.max_bytes))
            # A key that holds null is there, with nothing in it.
            return {} if value is None and text is not None else value
        values = {**self.urls, "python": sys.executable, **({"data": str(self.data)} if self.data else {})}
        words = cast("list[str]", fill(list(state.command or ()), values))
        name, most = f"the program {words[0]!r}", state.max_bytes
        async with private_folder("state-") as home:
            ran = await run_verifier(
                words, self.base_dir, home, timeout_s=COMMAND_S, name=name, limit_bytes=most + 1
            )
        if ran.code:
            raise Unreadable(f"{name} ended with code {ran.code}: {ran.complaint}")
        return parse_state(_check_size(ran.output, most))

    async def _read_storage(self, key: str) -> str | None:
        if self.is_open and self._pages.dialog is None:
            async with live_page(self.window) as page:
                value = await page.isolated_value(f"localStorage.getItem({json.dumps(key)})")
                return None if value is None else str(value)
        # On a blank page, which takes longer: the window shows another site, or a dialog.
        return next((one["value"] for one in await self._list_stored() if one["name"] == key), None)

    async def _list_stored(self) -> list[Any]:
        """Return the site's own local storage, whichever page the window shows, also one with a dialog."""
        window, home = self._pages, origin_of(self.urls[self.name])
        stored = await read_in_time(window, "the storage", window.context.storage_state())
        return [one for each in stored["origins"] if each["origin"] == home for one in each["localStorage"]]


def describe_missing(tables: Iterable[str], known: Collection[str]) -> str:
    """Return which table is not there, and which are."""
    missing = next(one for one in tables if one not in known)
    return f"it has no table {missing!r}.{_list_known(missing, known)}"


def _list_known(given: str, known: Iterable[str]) -> str:
    names = sorted(filter(None, {*known}))
    return f"{nearest(given, names)} There is: {join_first(names, MOST_KNOWN) or 'none'}."


def _check_size(content: Any, limit: int) -> Any:
    if (content if isinstance(content, int) else len(content)) > limit:
        raise Unreadable(f"it is larger than `max_bytes` ({limit:,})")
    return content


# -- databases


def copy_database(file: Path, max_bytes: int = 16_000_000) -> bytes:
    """Return a copy of a SQLite database, read in one transaction that writes nothing.

    Args:
        file: the database.
        max_bytes: the largest one.

    Raises:
        OSError: there is no such file.
        sqlite3.Error: it cannot be read.
        Unreadable: it is too large.
    """
    _check_size(file.stat().st_size, max_bytes)
    with contextlib.closing(sqlite3.connect(f"{file.resolve().as_uri()}?mode=ro", uri=True)) as database:
        database.execute("BEGIN")
        database.execute("SELECT * FROM sqlite_master").fetchone()  # here the transaction begins
        return database.serialize()


def read_known(site: SiteConfig, base_dir: Path) -> Schema | None:
    """Return what is compared of a site, as far as it is known before it is started.

    Raises:
        Unreadable: its first database cannot be read, is too large, or lacks a table.
    """
    state = cast("StateConfig", site.state)
    file = state.fill_place(base_dir, base_dir / site.data if site.data else None)
    if state.sqlite is None or not file.is_file():
        return dict.fromkeys(state.tables) or None
    try:
        _check_size(file.stat().st_size, state.max_bytes)
        schema = _read_file_schema(file, file.stat().st_mtime_ns)
    except (OSError, sqlite3.Error) as error:
        raise Unreadable(str(error)) from error
    if not {*state.tables} <= {*schema}:
        raise Unreadable(describe_missing(state.tables, schema))
    return {name: schema[name] for name in state.tables or schema}


@lru_cache(maxsize=16)
def _read_file_schema(file: Path, _changed_ns: int) -> Schema:
    place = f"{file.resolve().as_uri()}?mode=ro"
    if not file.with_name(f"{file.name}-wal").exists():
        place += "&immutable=1"  # else a reader leaves the files of a log of writes next to the user's own
    with contextlib.closing(sqlite3.connect(place, uri=True)) as database:
        return _list_schema(database, "main")


def read_schema(content: bytes) -> Schema:
    """Return the tables of a copy of a database, with their columns."""
    with _open_copies(content) as database:
        return _list_schema(database, "main")


@contextlib.contextmanager
def _open_copies(*contents: bytes) -> Any:
    with contextlib.closing(sqlite3.connect(":memory:")) as database:
        database.execute("ATTACH ':memory:' AS other")
        database.text_factory = lambda raw: raw.decode(errors="backslashreplace")
        for schema, content in zip(("main", "other"), contents, strict=False):
            if content:  # the header may ask for a log of writes, which there is none of in memory
                database.deserialize(content[:18] + b"\1\1" + content[20:], name=schema)
        yield database


def _list_schema(database: sqlite3.Connection, schema: str) -> dict[str, tuple[str, ...]]:
    """Return the columns of each table; what a search index keeps in tables of its own is none."""
    query = "SELECT name FROM pragma_table_list WHERE schema = ? AND type = 'table'"
    names = [name for (name,) in database.execute(query, [schema]) if not name.startswith("sqlite_")]
    heads = {
        name: database.execute(f"SELECT * FROM {schema}.{_quote(name)} LIMIT 0").description  # noqa: S608
        for name in names
    }
    return {name: tuple(one[0] for one in head) for name, head in heads.items()}


def read_changed(before: bytes, after: bytes) -> tuple[State, State]:
    """Return of two databases the rows that the other one may lack, by table.

    Raises:
        sqlite3.Error: one cannot be read.
    """
    if before == after:
        return {}, {}
    with _open_copies(before, after) as database:
        known = {schema: _list_schema(database, schema) for schema in ("main", "other")}
        old, new = (
            {
                name: _read_table(database, schema, name, columns, other if is_same else "")
                for name, columns in known[schema].items()
                for is_same in (columns == known[other].get(name),)
            }
            for schema, other in (("main", "other"), ("other", "main"))
        )
    return old, new


def _read_table(
    database: sqlite3.Connection, schema: str, name: str, columns: Collection[str], other: str
) -> Table:
    about = database.execute(f"PRAGMA {schema}.table_info({_quote(name)})").fetchall()
    key = tuple(one[1] for one in sorted(about, key=lambda one: int(one[5])) if one[5])
    query = f"SELECT a.* FROM {schema}.{_quote(name)} a"  # noqa: S608 names are quoted
    queries = [query]
    if other and "rowid" not in map(str.lower, columns):
        # Rows of one place are compared where they are: those that are equal are in neither list.
        ours, theirs = (", ".join(f"{side}.{_quote(c)} COLLATE BINARY" for c in columns) for side in "ab")
        joined = f"{query} LEFT JOIN {other}.{_quote(name)} b ON a.rowid = b.rowid"
        queries.insert(0, f"{joined} WHERE b.rowid IS NULL OR ({ours}) IS NOT ({theirs})")
    try:
        rows = database.execute(queries[0]).fetchall()
    except sqlite3.OperationalError:  # a table WITHOUT ROWID
        rows = database.execute(query).fetchall()
    return Table([dict(zip(columns, map(_make_plain, row), strict=True)) for row in rows], key)


def _quote(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _make_plain(value: Any) -> Any:
    is_infinite = value in (float("inf"), float("-inf"))
    return _describe_bytes(value) if isinstance(value, bytes) else str(value) if is_infinite else value


def _describe_bytes(content: bytes) -> str:
    return f"{len(content)} bytes, sha256 {hashlib.sha256(content).hexdigest()[:16]}"


# -- files


def read_files(pattern: Path, state: StateConfig) -> State:
    """Return what files hold, by folder: each is a row with its name in the column ``file``.

    A file whose JSON is a list is a table of its own.

    Args:
        pattern: an absolute path with ``*`` and ``**``.
        state: what it is of.

    Raises:
        OSError: one cannot be read.
        Unreadable: they are too large.
    """
    (root, wanted), size = split_pattern(pattern), 0
    if not root.is_dir():
        raise Unreadable(f"there is no folder {root.name!r}")
    found: dict[str, list[JsonValue]] = {}
    folders = set()
    for file in sorted(one for one in root.glob(wanted) if one.is_file() and not one.is_symlink()):
        content, place = file.read_bytes(), file.relative_to(root)
        size = _check_size(size + len(content), state.max_bytes)
        try:
            value = parse_state(content) if file.suffix == ".json" else content.decode()
        except UnicodeDecodeError:
            value = _describe_bytes(content)
        if isinstance(value, list):
            found.setdefault(place.with_suffix("").as_posix(), []).extend(value)
            continue
        folder = "files" if place.parent == Path() else place.parent.as_posix()
        folders.add(folder)
        row = value if isinstance(value, dict) else {"value": value}
        own = {f"{FILE}.{FILE}": row[FILE]} if FILE in row else {}
        found.setdefault(folder, []).append({**row, **own, FILE: place.name})
    tables = list_tables(cast("JsonValue", found), state.key) if found else {}
    return {name: replace(one, key=(FILE,)) if name in folders else one for name, one in tables.items()}


def split_pattern(pattern: Path) -> tuple[Path, str]:
    """Return the folder in which a pattern looks, and what it looks for there."""
    parts = pattern.parts
    fixed = next((place for place, part in enumerate(parts) if "*" in part or "?" in part), len(parts) - 1)
    return Path(*parts[:fixed]), "/".join(parts[fixed:])
