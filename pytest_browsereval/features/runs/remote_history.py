"""The history of runs at a URL, made of the manifests and summaries of what is done there."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from pytest_browsereval.errors import UsageError
from pytest_browsereval.features.runs.digest import FILES, RunDigest, RunFiles, State, digest_run
from pytest_browsereval.features.runs.history import History, mark_selections
from pytest_browsereval.features.shared.threads import map_apart
from pytest_browsereval.model.remote import PartsThere, RemoteRuns

AT_ONCE = 8
"""Runs that are looked at; each of them has several requests under way."""

_DIGESTING = threading.Lock()
"""Of a large run 200 MiB are in memory, and Python computes in one thread at a time anyway."""


class NoRunError(UsageError):
    """There is no run at a URL."""


@contextmanager
def read_remote(runs: RemoteRuns) -> Iterator[History]:
    """Give the history of the runs at a URL, of which a few files are brought for as long.

    Args:
        runs: those at the URL.

    Raises:
        NoRunError: there is none.
        UsageError: the store cannot be used.
    """
    with TemporaryDirectory() as copies:
        looking = _Looking(runs, Path(copies))
        found = [one for one in map_apart(looking.look, runs.list_runs(), AT_ONCE) if one is not None]
        if not found:
            raise NoRunError(f"{runs.url} has no run. Give the folder that the runs of all evals are in.")
        shown = mark_selections(sorted(found, key=lambda run: run.order, reverse=True))
        yield History(runs.url, tuple(shown), looking.files)


class _Looking:
    """Looks at one run after another."""

    def __init__(self, runs: RemoteRuns, copies: Path) -> None:
        self._runs = runs
        self._copies = copies
        self.files: dict[str, RunFiles] = {}

    def look(self, run: str) -> RunDigest | None:
        """Return the digest of a run as it is now; None for no run."""
        try:
            there = self._runs.find_parts(run)
            if not there.of:
                return None
            return self._digest(run, there) if there.done else _describe_begun(run, there)
        except UsageError as error:
            return _make(run, state=State.DAMAGED, note=str(error))

    def _digest(self, run: str, there: PartsThere) -> RunDigest:
        """Return the digest of a run, all parts that are done together."""
        numbers = tuple(sorted(there.done))
        folders = {there.done[number]: self._copies / run / str(number) for number in numbers}
        for place in folders.values():
            place.mkdir(parents=True)
        self._runs.save(
            {f"{folder}/{name}": place / name for folder, place in folders.items() for name in FILES}
        )
        files = RunFiles(tuple(folders.values()), numbers if there.of > 1 else (), there.of)
        self.files[run] = files
        with _DIGESTING:
            digest = digest_run(files, run)
        update: dict[str, Any] = {"folders": tuple(folders)}
        if there.of > 1:
            is_whole = digest.state is State.MERGED
            done = f"{len(there.done)} of {there.of} parts are done"
            if is_whole or len(there.done) < there.of:
                update["note"] = f"made in {len(there.done)} parts" if is_whole else done
            update["parts"] = ()  # none of them is a run of its own here
        return digest.model_copy(update=update)


def _make(run: str, **values: Any) -> RunDigest:
    given: Mapping[str, Any] = {"eval": run.partition("/")[0], "started_at": "1970-01-01T00:00:00.000Z"}
    return RunDigest.model_validate({"run": run, **given, **values})


def _describe_begun(run: str, there: PartsThere) -> RunDigest:
    note = "begun and not done: it still runs, or was cut off"
    begun = {"started_at": there.begun_at.replace("+00:00", ".000Z")} if there.begun_at else {}
    return _make(run, state=State.UNFINISHED, note=note, **begun)
