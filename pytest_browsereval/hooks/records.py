"""Finds lines of attempts that are missing or foreign: each process says what it wrote, one compares."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import UTC, datetime
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

import pytest

from pytest_browsereval.model.display import join_first
from pytest_browsereval.run.active import ActiveRun
from pytest_browsereval.run.store import RunStore
from pytest_browsereval.runs.attempt import find_place
from pytest_browsereval.runs.lines import (
    ATTEMPTS,
    Noted,
    hash_line,
    list_files,
    list_kept,
    parse_line,
    read_raw,
)
from pytest_browsereval.runs.rewritten import NAMED, REWRITTEN, Lost, attempt_number, describe_foreign_records
from pytest_browsereval.runs.texts import find_changed

if TYPE_CHECKING:
    from pytest_browsereval.hooks.session import EvalSession

Fresh = Mapping[str, Mapping[str, tuple[str, int]]]
"""Place and revision of lines that a process has written, by their hashes.

These stand under the config's node id, or under the folder of a run of a hand-written test.
"""


class RecordKeeping:
    """Has a worker tell the controller the hashes of the lines that it has written.

    Args:
        session: the eval session of this process.
    """

    def __init__(self, session: EvalSession) -> None:
        self._session = session

    def take_fresh(self) -> Fresh:
        """Return what was written since the last time."""
        fresh: dict[str, Mapping[str, tuple[str, int]]] = {}
        for path, active_run in self._session.runs.items():
            if found := active_run.store.writer.take_fresh():
                fresh[self._session.nodeid_of(path)] = _make_plain(found)
            for store in active_run.own_runs.stores:
                if found := store.writer.take_fresh():
                    fresh[str(store.root)] = _make_plain(found)
        return fresh

    def send(self) -> None:
        """Send the hashes of new lines; they count even if the worker dies next."""
        if self._session.is_worker and (fresh := self.take_fresh()):
            self._session.prefetch.share.send(fresh)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self) -> None:
        """Tell what was written by anything else than an attempt that ran ahead."""
        self.send()

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self) -> None:
        """Tell the rest."""
        self.send()


class RecordCheck:
    """Finds lines that the processes of the run have not written, and those that are gone.

    Args:
        session: the eval session of the controller.
    """

    def __init__(self, session: EvalSession) -> None:
        self._session = session
        self._keeping = session.keeping
        self._known: dict[str, dict[str, Noted]] = {}
        self.told: SimpleQueue[Fresh] = SimpleQueue()
        """What workers have told; a thread of execnet's puts it there."""
        self.problems: list[str] = []
        """A sentence for each run that lost records."""

    def _take_over(self) -> None:
        """Take over what all processes have written, as far as it is known."""
        self.told.put(self._keeping.take_fresh())
        while not self.told.empty():
            for owner, found in self.told.get().items():
                known = self._known.setdefault(owner, {})
                known.update((key, Noted(*noted)) for key, noted in found.items())

    def drop_untold(self, worker: str) -> set[str]:
        """Drop the lines that a dead worker has not told of; return the hashes of its others.

        The worker tells of its own at once: these are by a program of an attempt that has killed it.

        Raises:
            OSError: it cannot be written down which.
            UsageError: the lines cannot be read.
        """
        believed = set[str]()
        self._take_over()
        for active_run in dict.fromkeys(self._session.runs.values()):
            store, known = active_run.store, self._of(active_run)
            dropped = Lost(store.root).dropped
            for name in list_files(store.root):
                if not name.startswith(f"{worker}-"):
                    continue
                for key, noted in _read_lines(store.root, [name]).items():
                    if key in known:
                        believed.add(key)
                    elif key not in dropped:
                        _note_lost(store, noted.place, None, key)
        return believed

    def take_stock(self, active_run: ActiveRun) -> None:
        """Take over what the run of a config has before this session makes its first attempt."""
        root = active_run.store.root
        if root.exists():
            self._of(active_run).update(_read_lines(root, list_files(root)))

    def _of(self, active_run: ActiveRun) -> dict[str, Noted]:
        places = (path for path, one in self._session.runs.items() if one is active_run)
        return self._known.setdefault(self._session.nodeid_of(next(places)), {})

    def check(self, active_run: ActiveRun, *, is_over: bool) -> None:
        """Look for lines of a config's run that are gone, and for those that something else has written.

        Args:
            active_run: of the config.
            is_over: whether all its items have come to their end: else a worker may not have told of a line.

        Raises:
            OSError: it cannot be written down which.
            UsageError: the lines cannot be read.
        """
        self._take_over()
        self._compare(active_run.store, self._of(active_run), is_over=is_over)

    def check_foreign(self, store: RunStore, later: Collection[str]) -> None:
        """Look for such lines of this session or an earlier one that are still in the run.

        Args:
            store: the run.
            later: the folders of trials that have a later result.
        """
        # Else this session has just found them.
        if not self.problems and (places := list_kept(store.root, later)):
            self.problems.append(f"{store.root}: {describe_foreign_records(places)}.")

    def _compare(self, store: RunStore, known: Mapping[str, Noted], *, is_over: bool) -> None:
        there, dropped = _read_lines(store.root, list_files(store.root)), Lost(store.root).dropped
        missing = {key: known[key] for key in known.keys() - there.keys()}
        foreign = there.keys() - known.keys() if is_over else set()
        foreign = (foreign | {key for key in there if there[key].changed}) - dropped
        # By lines of the run's own: a foreign one may say any number.
        last: dict[str, tuple[int, int]] = {}
        for noted in (noted for key, noted in known.items() if key not in dropped):
            trial, _, name = noted.place.rpartition("/")
            one = (attempt_number(name) or 0, noted.revision)
            last[trial] = max(one, last.get(trial, one))
        found = [*missing.values(), *(there[key] for key in foreign)]
        for noted, line in zip(found, (*(None for _ in missing), *foreign), strict=True):
            _note_lost(store, noted.place, last.get(noted.place.rpartition("/")[0], (0, 0)), line)
        places = sorted({f"{noted.place}/{noted.changed}".rstrip("/") for noted in found})
        if places:
            self.problems.append(
                f"{store.root}: something other than this run has changed, made or removed lines of "
                f"{ATTEMPTS}/*.jsonl or their long texts, so that their trials have no result: "
                f"{join_first(places, NAMED)}. Find out what writes there, an agent's program or a hook. "
                "--eval-resume runs these trials again. "
                "Remove lines that belong to no trial of this run."
            )

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Look at the runs of hand-written tests, and make a session that lost records red."""
        self._take_over()
        for owner, known in self._known.items():
            root = Path(owner)
            if root.is_absolute() and root.is_dir():
                self._compare(RunStore(root), known, is_over=True)
        if self.problems and int(session.exitstatus) in (0, 1):
            session.exitstatus = pytest.ExitCode.INTERNAL_ERROR

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Name the records."""
        for problem in self.problems:
            terminalreporter.section("eval records changed", red=True)
            terminalreporter.line(problem, red=True)


def _read_lines(root: Path, names: Collection[str]) -> dict[str, Noted]:
    """Return the lines of files by their hashes; what is not a record is of no attempt."""
    found: dict[str, Noted] = {}
    for name in names:
        for offset, content in read_raw(root, name):
            try:
                if (data := parse_line(content)) is None:
                    continue
                place, changed = find_place(data), ""
                if data.long_texts:
                    changed = find_changed(data, root / place)
                noted = Noted(place, data.revision, changed)
            except ValueError:
                noted = Noted(f"{ATTEMPTS}/{name} (at byte {offset})", 0)
            found[hash_line(content)] = noted
    return found


def _make_plain(found: Mapping[str, Noted]) -> Mapping[str, tuple[str, int]]:
    return {key: (noted.place, noted.revision) for key, noted in found.items()}  # all that execnet sends


def _note_lost(store: RunStore, place: str, until: tuple[int, int] | None, line: str | None) -> None:
    """Write down that a trial has no result by what the run has of it, or that one line does not count.

    Args:
        store: the run.
        place: the folder of the attempt.
        until: the last attempt that has no result, and its revision; None if only the line does not count.
        line: the hash of a line that the run has not written; None of one that is gone.

    Raises:
        OSError: it cannot be written.
    """
    found_at = f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"
    store.append(REWRITTEN, {"folder": place, "until": until, "line": line, "found_at": found_at})
