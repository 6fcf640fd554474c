"""The history of runs at a URL, made of the manifests and summaries of what is done there."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
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
        looked = map_apart(partial(_look, runs, Path(copies)), runs.list_runs(), AT_ONCE)
        found = [one for one in looked if one is not None]
        if not found:
            raise NoRunError(f"{runs.url} has no run. Give the folder that the runs of all evals are in.")
        files = {digest.run: own for digest, own in found if own is not None}
        digests = sorted((digest for digest, _ in found), key=lambda run: run.order, reverse=True)
        yield History(runs.url, tuple(mark_selections(digests)), files)


def _look(runs: RemoteRuns, copies: Path, run: str) -> tuple[RunDigest, RunFiles | None] | None:
    """Return a run as it is now, and the copies of its files if it is done; None for no run."""
    begun: dict[str, Any] = {
        "run": run,
        "eval": run.partition("/")[0],
        "started_at": "1970-01-01T00:00:00.000Z",
        "note": "begun and not done: it still runs, or was cut off",
    }
    try:
        there = runs.find_parts(run)
        if not there.of:
            return None
        if there.done:
            return _digest(runs, copies / run, run, there)
    except UsageError as error:
        return RunDigest(**begun | {"note": str(error)}, state=State.DAMAGED), None
    if there.begun_at:
        begun["started_at"] = there.begun_at.replace("+00:00", ".000Z")
    return RunDigest(**begun, state=State.UNFINISHED), None


def _digest(runs: RemoteRuns, copies: Path, run: str, there: PartsThere) -> tuple[RunDigest, RunFiles]:
    """Return a run, all parts that are done together, and the copies of their files."""
    numbers = tuple(sorted(there.done))
    folders = {there.done[number]: copies / str(number) for number in numbers}
    for place in folders.values():
        place.mkdir(parents=True)
    runs.save({f"{folder}/{name}": place / name for folder, place in folders.items() for name in FILES})
    files = RunFiles(tuple(folders.values()), numbers if there.of > 1 else (), there.of)
    with _DIGESTING:
        digest = digest_run(files, run)
    update: dict[str, Any] = {"folders": tuple(folders)}
    if there.of > 1:
        is_whole = digest.state is State.MERGED
        if is_whole or len(numbers) < there.of:
            done = f"{len(numbers)} of {there.of} parts are done"
            update["note"] = f"made in {len(numbers)} parts" if is_whole else done
        update["parts"] = ()  # none of them is a run of its own here
    return digest.model_copy(update=update), files
