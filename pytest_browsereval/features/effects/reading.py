"""Reads the state of a site: a database, an address, storage of the window, files, or a program's output."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import sqlite3
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any, cast

from pydantic import JsonValue

from pytest_browsereval.browsers.base import Window
from pytest_browsereval.browsers.playwright.origins import origin_of
from pytest_browsereval.browsers.playwright.waiting import playwright_error
from pytest_browsereval.browsers.playwright.windows import PlaywrightWindow
from pytest_browsereval.errors import ErrorSource, Fault
from pytest_browsereval.features.effects.diff import (
    State,
    Table,
    compare_states,
    describe_difference,
    list_tables,
)
from pytest_browsereval.features.shared.verifiers import run_verifier
from pytest_browsereval.graders.observing import fetch_json, live_page, parse_state, read_in_time
from pytest_browsereval.graders.page_values import NoValue
from pytest_browsereval.sites import SiteConfig, fill
from pytest_browsereval.temporary import private_folder

SETTLE_S, PAUSE_S = 5.0, 0.1
"""How long a state may take until two readings are equal, and how far these lie apart."""
COMMAND_S = 30.0
FILE = "file"
"""The column of a folder that has the names of its files."""


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
    def is_open(self) -> bool:
        """Whether its pages have written what they write at first, as far as a state needs one."""
        is_stored = self.site.state is not None and self.site.state.storage is not None
        return not is_stored or origin_of(self.window.url) == origin_of(self.urls[self.name])

    async def read(self, *, keeps_dialog: bool = False) -> State:
        """Return the state as it is now.

        Args:
            keeps_dialog: whether a dialog stays open, which is the agent's to answer.

        Raises:
            Fault: source *site*: it cannot be read, or it is too large.
        """
        state = self.site.state
        assert state is not None  # noqa: S101 who has none has no source
        try:
            if state.sqlite is not None:
                file = state.fill_place(self.base_dir, self.data)
                return await asyncio.to_thread(read_database, file, state.tables, state.max_bytes)
            value = await self._read_value(keeps_dialog=keeps_dialog)
        except (OSError, sqlite3.Error, NoValue, Unreadable, Fault, playwright_error()) as error:
            raise self.fault(f"cannot be read: {error}") from error
        tables = list_tables(value, state.key)
        if state.files is not None:
            tables = {
                name: replace(one, key=(FILE,)) if _is_folder(one) else one for name, one in tables.items()
            }
        return {name: one for name, one in tables.items() if not state.tables or name in state.tables}

    async def read_settled(self) -> State:
        """Return the state once two readings are equal.

        Raises:
            Fault: source *site*: it cannot be read, or it does not come to rest.
        """
        state = self.site.state
        assert state is not None  # noqa: S101 as above
        # Of other sources nothing tells that they are unchanged: each mark is another.
        watched: Any = contextlib.nullcontext(object)
        if state.sqlite is not None:
            watched = watch_database(state.fill_place(self.base_dir, self.data))
        try:
            with watched as mark:
                return await self._settle(mark)
        except (OSError, sqlite3.Error) as error:
            raise self.fault(f"cannot be read: {error}") from error

    async def _settle(self, mark: Callable[[], object]) -> State:
        loop = asyncio.get_running_loop()
        deadline = loop.time() + SETTLE_S
        seen, last = await asyncio.to_thread(mark), await self.read()
        while True:
            await asyncio.sleep(PAUSE_S)
            now = await asyncio.to_thread(mark)
            if now == seen:
                return last
            seen, state = now, await self.read()
            if not (moved := compare_states(last, state, self.site.volatile)):
                return state
            if loop.time() >= deadline:
                what = describe_difference(moved[0], with_values=False)
                hint = "Name what always changes in `volatile`."
                raise self.fault(f"did not come to rest within {SETTLE_S:g} s: {what}. {hint}")
            last = state

    def fault(self, why: str) -> Fault:
        """Return the error of a state."""
        return Fault(ErrorSource.SITE, f"the state of the site {self.name!r} {why}")

    async def _read_value(self, *, keeps_dialog: bool) -> JsonValue:
        state = self.site.state
        assert state is not None  # noqa: S101 as above
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
            return None if text is None else parse_state(_check_size(text, state.max_bytes))
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
        """Return a value of the site's own local storage, wherever the window's page is now."""
        window, home = self.window, origin_of(self.urls[self.name])
        assert isinstance(window, PlaywrightWindow)  # noqa: S101 others were refused
        if window.dialog is None or not keeps_dialog:
            async with live_page(window) as page:
                if origin_of(page.url) == home:
                    value = await page.isolated_value(f"localStorage.getItem({json.dumps(key)})")
                    return None if value is None else str(value)
        # A page that shows a dialog does not answer; this reads on an empty page of the same origin.
        stored = await read_in_time(window, "the storage", window.context.storage_state())
        entries = (
            one for origin in stored["origins"] if origin["origin"] == home for one in origin["localStorage"]
        )
        return next((one["value"] for one in entries if one["name"] == key), None)


def _is_folder(table: Table) -> bool:
    return bool(table.rows) and all(FILE in row for row in table.rows)


def _check_size(text: Any, limit: int) -> Any:
    if len(text) > limit:
        raise Unreadable(f"it is larger than `max_bytes` ({limit:,})")
    return text


# -- databases


def _open_database(file: Path, *, is_at_rest: bool = False) -> contextlib.closing[sqlite3.Connection]:
    place = f"{file.resolve().as_uri()}?mode=ro"
    if is_at_rest and not file.with_name(f"{file.name}-wal").exists():
        place += "&immutable=1"  # else a reader leaves the files of a log of writes there
    return contextlib.closing(sqlite3.connect(place, uri=True, check_same_thread=False))


@contextlib.contextmanager
def watch_database(file: Path) -> Iterator[Callable[[], object]]:
    """Yield a function whose value is another once any program has written to a SQLite database.

    Raises:
        OSError: there is no such file.
        sqlite3.Error: it cannot be read.
    """
    with _open_database(file) as database:

        def mark() -> object:
            about = file.stat()  # `data_version` does not see that another file was put in its place
            (version,) = database.execute("PRAGMA data_version").fetchone()
            return about.st_dev, about.st_ino, about.st_size, about.st_mtime_ns, version

        yield mark


def read_database(
    file: Path, tables: Sequence[str] = (), max_bytes: int = 16_000_000, *, is_at_rest: bool = False
) -> State:
    """Return the tables of a SQLite database, read in one transaction that writes nothing.

    Args:
        file: the database.
        tables: those that are read; all by default.
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
    with _open_database(file, is_at_rest=is_at_rest) as database:
        database.execute("BEGIN")
        query = "SELECT name, sql FROM sqlite_master WHERE type = 'table' AND substr(name, 1, 7) != 'sqlite_'"
        found = database.execute(query).fetchall()
        virtual = [name for name, sql in found if str(sql).upper().startswith("CREATE VIRTUAL")]
        inner = tuple(f"{name}_" for name in virtual)
        names = [name for name, _ in found if name not in virtual and not (inner and name.startswith(inner))]
        if missing := sorted({*tables} - {*names}):
            raise Unreadable(f"{file.name} has no table {missing[0]!r}. Tables: {', '.join(names) or 'none'}")
        return {name: _read_table(database, name) for name in tables or names}


def _read_table(database: sqlite3.Connection, name: str) -> Table:
    quoted = '"' + name.replace('"', '""') + '"'
    columns = database.execute(f"PRAGMA table_info({quoted})").fetchall()
    key = [one[1] for one in sorted(columns, key=lambda one: int(one[5])) if one[5]]
    read = database.execute(f"SELECT * FROM {quoted}")  # noqa: S608 the name is a table's, and quoted
    try:
        rows = read.fetchall()
    except sqlite3.OperationalError:  # a text that is not UTF-8; to decode each here is slow
        database.text_factory = lambda raw: raw.decode(errors="replace")
        rows = database.execute(f"SELECT * FROM {quoted}").fetchall()  # noqa: S608 as above
    if {bytes, float} & {*map(type, chain.from_iterable(rows))}:
        rows = [tuple(map(_make_plain, row)) for row in rows]
    return Table(rows, tuple(key), tuple(one[0] for one in read.description))


_INFINITE = (float("inf"), float("-inf"))


def _make_plain(value: Any) -> Any:
    return _describe_bytes(value) if isinstance(value, bytes) else str(value) if value in _INFINITE else value


def _describe_bytes(content: bytes) -> str:
    return f"{len(content)} bytes, sha256 {hashlib.sha256(content).hexdigest()[:16]}"


# -- files


def read_files(pattern: Path, max_bytes: int) -> JsonValue:
    """Return what files hold, by folder: each is a row with its name in the column ``file``.

    A file whose JSON is a list is a table of its own.

    Args:
        pattern: an absolute path with ``*`` and ``**``.
        max_bytes: of all files together.

    Raises:
        OSError: one cannot be read.
        Unreadable: they are too large.
    """
    parts = pattern.parts
    fixed = next((place for place, part in enumerate(parts) if "*" in part or "?" in part), len(parts) - 1)
    root, size = Path(*parts[:fixed]), 0
    state: dict[str, Any] = {}
    if not root.is_dir():
        raise Unreadable(f"there is no folder {root.name!r}")
    for file in sorted(root.glob("/".join(parts[fixed:]))):
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
            state[place.with_suffix("").as_posix()] = value
        else:
            row = value if isinstance(value, dict) else {"value": value}
            table: Any = state.setdefault("files" if folder == "." else folder, [])
            table.append({**row, FILE: place.name})
    return state
