"""Reads the state of a site: a database, an address, storage of the window, files, or a program's output."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import sqlite3
import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
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
"""The column of a folder that has the names of its files."""
OWN_FILE = "file.file"
"""What the column ``file`` of a file itself is called."""


class Unreadable(Exception):
    """Why a state cannot be read."""


@dataclass(frozen=True)
class Source:
    """The state of a site in one attempt."""

    name: str
    site: SiteConfig
    urls: Mapping[str, str]
    data: Path | None
    base_dir: Path
    window: Window

    @property
    def state(self) -> StateConfig:
        """Where it is read."""
        assert self.site.state is not None  # noqa: S101 a site without one has no source
        return self.site.state

    @property
    def is_open(self) -> bool:
        """Whether its pages have written what they write at first, as far as a state needs one."""
        return self.state.storage is None or origin_of(self.window.url) == origin_of(self.urls[self.name])

    async def read(self, *, keeps_dialog: bool = False) -> State | bytes:
        """Return the state as it is now: tables, or the copy of a database.

        Args:
            keeps_dialog: whether a dialog stays open, which is the agent's to answer.

        Raises:
            Fault: source *site*: it cannot be read, or it is too large.
        """
        state = self.state
        try:
            if state.sqlite is not None:
                file = state.fill_place(self.base_dir, self.data)
                return await asyncio.to_thread(copy_database, file, state.tables, state.max_bytes)
            value = await self._read_value(keeps_dialog=keeps_dialog)
        except (OSError, sqlite3.Error, NoValue, Unreadable, Fault, playwright_error()) as error:
            raise self.fault(f"cannot be read: {error}") from error
        tables = list_tables(value, state.key)
        if state.files is not None:
            tables = {
                name: replace(one, key=(FILE,)) if _is_folder(one) else one for name, one in tables.items()
            }
        return tables

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
            {name: table for name, table in one.items() if not self.state.tables or name in self.state.tables}
            for one in (cast("State", before), cast("State", after))
        )
        return compare_states(old, new, self.site.volatile)

    async def check_compared(self, before: State | bytes, after: State | bytes) -> None:
        """Check that what the config names was there before or after, so that a change would have been seen.

        Raises:
            Fault: source *site*: it was not; with what there is.
        """
        known = await asyncio.to_thread(_list_names, before, after)
        if not known:
            why = await self._find_others()
        elif missing := sorted({*self.state.tables} - known):
            why = f"it has no table {missing[0]!r}.{_list_known(missing[0], known, 'Tables')}"
        else:
            compared = self.state.tables or known
            why = "`volatile` leaves nothing of it" if leaves_nothing(self.site.volatile, compared) else ""
        if why:
            raise self.fault(f"was not there to compare, when the agent began or when it had ended: {why}")

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

    async def _find_others(self) -> str:
        """Return what is in the place of a state that is not there; empty if nothing is."""
        state = self.state
        if state.storage is not None:
            key = state.storage.partition(":")[2]
            names = [one["name"] for one in await self._list_stored()]
            hint = "If the page writes it later, write `null` there in a `setup_script`."
            known = f"{_list_known(key, names, 'Keys')} {hint}"
            return f"local storage has no key {key!r}.{known}" if names else ""
        if state.files is not None:
            pattern = state.fill_place(self.base_dir, self.data)
            root, wanted = split_pattern(pattern)
            names = [one.name for one in root.rglob("*") if one.is_file() and not one.name.startswith(".")]
            return f"no file matches {wanted!r}.{_list_known(wanted, names, 'Files')}" if names else ""
        return "it has no table" if state.sqlite else "it is null. Write {} for one that is empty"

    def fault(self, why: str) -> Fault:
        """Return the error of a state."""
        return Fault(ErrorSource.SITE, f"the state of the site {self.name!r} {why}")

    async def _read_value(self, *, keeps_dialog: bool) -> JsonValue:
        state = self.state
        if state.url is not None:
            url = fill(state.url, self.urls)
            window = self.window
            cookies: Any = []
            if isinstance(window, PlaywrightWindow):
                cookies = await read_in_time(window, "the cookies", window.context.cookies([url]))
            named = {str(one["name"]): str(one["value"]) for one in cookies}
            return await fetch_json(url, named, state.max_bytes)
        if state.storage is not None:
            text = await self._read_storage(state.storage.partition(":")[2], keeps_dialog=keeps_dialog)
            value = None if text is None else parse_state(_check_size(text, state.max_bytes))
            return {} if value is None and text is not None else value
        if state.files is not None:
            pattern = state.fill_place(self.base_dir, self.data)
            return await asyncio.to_thread(read_files, pattern, state.max_bytes)
        values = {**self.urls, "python": sys.executable, **({"data": str(self.data)} if self.data else {})}
        words = cast("list[str]", fill(list(state.command or ()), values))
        async with private_folder("state-") as home:
            name = f"the program {words[0]!r}"
            ran = await run_verifier(
                words, self.base_dir, home, timeout_s=COMMAND_S, name=name, limit_bytes=state.max_bytes + 1
            )
        if ran.code:
            raise Unreadable(f"{name} ended with code {ran.code}: {ran.complaint}")
        return parse_state(_check_size(ran.output, state.max_bytes))

    async def _read_storage(self, key: str, *, keeps_dialog: bool) -> str | None:
        """Return a value of the site's own local storage, whichever page the window shows."""
        window, home = self.window, origin_of(self.urls[self.name])
        assert isinstance(window, PlaywrightWindow)  # noqa: S101 others were refused
        if window.dialog is None or not keeps_dialog:
            async with live_page(window) as page:
                if origin_of(page.url) == home:
                    value = await page.isolated_value(f"localStorage.getItem({json.dumps(key)})")
                    return None if value is None else str(value)
        # A page that shows a dialog does not answer; this reads on an empty page of the same origin.
        return next((one["value"] for one in await self._list_stored() if one["name"] == key), None)

    async def _list_stored(self) -> list[Any]:
        """Return the names and values of the site's own local storage."""
        window, home = self.window, origin_of(self.urls[self.name])
        assert isinstance(window, PlaywrightWindow)  # noqa: S101 as above
        stored = await read_in_time(window, "the storage", window.context.storage_state())
        return [one for each in stored["origins"] if each["origin"] == home for one in each["localStorage"]]


def _list_names(*states: State | bytes) -> set[str]:
    return {name for one in states for name in (read_schema(one) if isinstance(one, bytes) else one)}


def _list_known(given: str, known: Iterable[str], noun: str) -> str:
    names = sorted(filter(None, {*known}))
    return f"{nearest(given, names)} {noun}: {join_first(names, MOST_KNOWN) or 'none'}."


def _is_folder(table: Table) -> bool:
    return bool(table.rows) and all(FILE in row for row in table.rows)


def _check_size(text: Any, limit: int) -> Any:
    if len(text) > limit:
        raise Unreadable(f"it is larger than `max_bytes` ({limit:,})")
    return text


# -- databases


def copy_database(
    file: Path, tables: Sequence[str] = (), max_bytes: int = 16_000_000, *, is_at_rest: bool = False
) -> bytes:
    """Return a copy of a SQLite database, read in one transaction that writes nothing.

    Args:
        file: the database.
        tables: those that are copied; all by default.
        max_bytes: the largest database, unless tables are named.
        is_at_rest: whether no program has it open; then nothing is written next to it.

    Raises:
        OSError: there is no such file.
        sqlite3.Error: it cannot be read.
        Unreadable: it is too large, or has no table of a name.
    """
    size = file.stat().st_size
    if size > max_bytes and not tables:
        raise Unreadable(
            f"{file.name} has {size:,} bytes, and `max_bytes` is {max_bytes:,}. Name its `tables`"
        )
    with _open_file(file, is_at_rest=is_at_rest) as database:
        database.execute("BEGIN")
        known = _list_tables(database)
        if missing := sorted({*tables} - {*known}):
            listed = _list_known(missing[0], known, "Tables").rstrip(".")
            raise Unreadable(f"{file.name} has no table {missing[0]!r}.{listed}")
        if not tables:
            return database.serialize()
        with contextlib.closing(sqlite3.connect(":memory:", isolation_level=None)) as copy:
            for name in tables:
                copy.execute(known[name])
                columns = [one[1] for one in database.execute(f"PRAGMA table_info({_quote(name)})")]
                listed, marks = ", ".join(map(_quote, columns)), ", ".join("?" * len(columns))
                rows = database.execute(f"SELECT {listed} FROM {_quote(name)}")  # noqa: S608 names are quoted
                copy.executemany(f"INSERT INTO {_quote(name)} ({listed}) VALUES ({marks})", rows)  # noqa: S608
            return copy.serialize()


def _open_file(file: Path, *, is_at_rest: bool) -> contextlib.closing[sqlite3.Connection]:
    place = f"{file.resolve().as_uri()}?mode=ro"
    if is_at_rest and not file.with_name(f"{file.name}-wal").exists():
        place += "&immutable=1"  # else a reader leaves the files of a log of writes there
    return contextlib.closing(sqlite3.connect(place, uri=True))


_INDEX_PARTS = (
    *("config", "content", "data", "docsize", "idx", "segdir", "segments", "stat"),  # fts3 to fts5
    *("node", "parent", "rowid"),  # rtree
)
"""What follows the name of an index in those of its own tables."""


def _list_tables(database: sqlite3.Connection, schema: str = "main") -> dict[str, str]:
    """Return the tables of a database with the statements that make them; indexes of a search are none."""
    where = "type = 'table' AND substr(name, 1, 7) != 'sqlite_'"
    found = database.execute(f"SELECT name, sql FROM {schema}.sqlite_master WHERE {where}").fetchall()  # noqa: S608
    virtual = [name for name, sql in found if str(sql).upper().startswith("CREATE VIRTUAL")]
    inner = {f"{name}_{part}" for name in virtual for part in _INDEX_PARTS}
    return {n: sql for n, sql in found if n not in virtual and n not in inner}


Schema = Mapping[str, Collection[str] | None]
"""The columns of tables; None where they are not known."""


def read_known(site: SiteConfig, base_dir: Path) -> Schema | None:
    """Return what is compared of a site, as far as it is known before it is started."""
    state = site.state
    if state is None or state.sqlite is None or not site.data:
        return dict.fromkeys(state.tables) if state is not None and state.tables else None
    file = state.fill_place(base_dir, base_dir / site.data)
    try:
        schema = _read_file_schema(file, file.stat().st_mtime_ns)
        return {name: schema[name] for name in state.tables or schema}
    except (OSError, sqlite3.Error, KeyError):  # what cannot be read is refused with the config
        return None


@lru_cache(maxsize=16)
def _read_file_schema(file: Path, _changed_ns: int) -> Schema:
    with _open_file(file, is_at_rest=True) as database:
        return _list_schema(database)


def read_schema(content: bytes) -> Schema:
    """Return the tables of a copy of a database, with their columns."""
    with contextlib.closing(sqlite3.connect(":memory:")) as database:
        _load_copy(database, "main", content)
        return _list_schema(database)


def _list_schema(database: sqlite3.Connection) -> Schema:
    return {name: _list_columns(database, _quote(name)) for name in _list_tables(database)}


def _load_copy(database: sqlite3.Connection, schema: str, content: bytes) -> None:
    if content:  # the header may ask for a log of writes, which there is none of in memory
        database.deserialize(content[:18] + b"\1\1" + content[20:], name=schema)


def _list_columns(database: sqlite3.Connection, place: str) -> tuple[str, ...]:
    read = database.execute(f"SELECT * FROM {place} LIMIT 0")  # noqa: S608 names are quoted
    return tuple(one[0] for one in read.description)


def read_changed(before: bytes, after: bytes) -> tuple[State, State]:
    """Return of two databases the rows that the other one may lack, by table.

    Raises:
        sqlite3.Error: one cannot be read.
    """
    if before == after:
        return {}, {}
    with contextlib.closing(sqlite3.connect(":memory:")) as database:
        database.execute("ATTACH ':memory:' AS other")
        for schema, content in (("main", before), ("other", after)):
            _load_copy(database, schema, content)
        return _read_rows(database, "main", "other"), _read_rows(database, "other", "main")


def _read_rows(database: sqlite3.Connection, schema: str, other: str) -> State:
    known = _list_tables(database, other)
    return {
        name: _read_table(database, f"{schema}.", _quote(name), f"{other}." if name in known else "")
        for name in _list_tables(database, schema)
    }


def _read_table(database: sqlite3.Connection, schema: str, name: str, other: str) -> Table:
    about = database.execute(f"PRAGMA {schema}table_info({name})").fetchall()
    key = tuple(one[1] for one in sorted(about, key=lambda one: int(one[5])) if one[5])
    columns = _list_columns(database, schema + name)
    query = f"SELECT a.* FROM {schema}{name} a"  # noqa: S608 as above
    place: list[str] = []
    if other and columns == _list_columns(database, other + name):
        # Rows of one place are compared where they are: those that are equal are in neither list.
        place = [one for one in ("rowid", "_rowid_", "oid") if one not in map(str.lower, columns)][:1]
        try:
            database.execute(f"SELECT {', '.join(place)} FROM {schema}{name} LIMIT 0")  # noqa: S608
        except sqlite3.OperationalError:
            place = [_quote(column) for column in key]
    if place:
        same = " AND ".join(f"a.{one} = b.{one}" for one in place)
        ours, theirs = (
            ", ".join(f"{side}.{_quote(column)} COLLATE BINARY" for column in columns) for side in "ab"
        )
        query += (
            f" LEFT JOIN {other}{name} b ON {same} WHERE b.{place[0]} IS NULL OR ({ours}) IS NOT ({theirs})"
        )
    try:
        rows = database.execute(query).fetchall()
    except sqlite3.OperationalError:  # a text that is not UTF-8; to decode each here is slow
        database.text_factory = lambda raw: raw.decode(errors="backslashreplace")
        rows = database.execute(query).fetchall()
    return Table([tuple(map(_make_plain, row)) for row in rows], key, columns)


def _quote(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


_INFINITE = (float("inf"), float("-inf"))


def _make_plain(value: Any) -> Any:
    return _describe_bytes(value) if isinstance(value, bytes) else str(value) if value in _INFINITE else value


def _describe_bytes(content: bytes) -> str:
    return f"{len(content)} bytes, sha256 {hashlib.sha256(content).hexdigest()[:16]}"


# -- files


def read_files(pattern: Path, max_bytes: int) -> JsonValue:
    """Return what files hold, by folder: each is a row with its name in the column ``file``.

    A file whose JSON is a list is a table of its own. Without any file it is None.

    Args:
        pattern: an absolute path with ``*`` and ``**``.
        max_bytes: of all files together.

    Raises:
        OSError: one cannot be read.
        Unreadable: they are too large.
    """
    (root, wanted), size = split_pattern(pattern), 0
    state: dict[str, Any] = {}
    if not root.is_dir():
        raise Unreadable(f"there is no folder {root.name!r}")
    for file in sorted(root.glob(wanted)):
        if not file.is_file() or file.is_symlink():
            continue
        content, place = file.read_bytes(), file.relative_to(root)
        size += len(content)
        if size > max_bytes:
            raise Unreadable(f"the files are larger than `max_bytes` ({max_bytes:,})")
        try:
            value = parse_state(content) if file.suffix == ".json" else content.decode()
        except UnicodeDecodeError:
            value = _describe_bytes(content)
        folder = place.parent.as_posix()
        if isinstance(value, list):
            state.setdefault(place.with_suffix("").as_posix(), []).extend(value)
        else:
            row = value if isinstance(value, dict) else {"value": value}
            own = {OWN_FILE: row[FILE]} if FILE in row else {}
            state.setdefault("files" if folder == "." else folder, []).append(
                {**row, **own, FILE: place.name}
            )
    return state or None


def split_pattern(pattern: Path) -> tuple[Path, str]:
    """Return the folder in which a pattern looks, and what it looks for there."""
    parts = pattern.parts
    fixed = next((place for place, part in enumerate(parts) if "*" in part or "?" in part), len(parts) - 1)
    return Path(*parts[:fixed]), "/".join(parts[fixed:])
