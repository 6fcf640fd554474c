"""The runs of a results folder, or of a URL, read anew each time."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from pytest_browsereval.config_text import format_path
from pytest_browsereval.errors import UsageError
from pytest_browsereval.features.runs.digest import FILES, RunDigest, State, digest_run
from pytest_browsereval.features.shared.threads import map_apart
from pytest_browsereval.model.display import format_count
from pytest_browsereval.model.remote import RemoteRuns
from pytest_browsereval.run.lookup import is_run
from pytest_browsereval.run.store import RunStore

AT_ONCE = 8
"""Runs at a URL that are looked at."""


class NoRunError(UsageError):
    """There is no run at a place."""


@dataclass(frozen=True)
class History:
    """The runs of a results folder, or of a URL."""

    name: str
    """The results folder, or its URL."""
    runs: tuple[RunDigest, ...]
    """The newest first."""
    folders: Mapping[str, Path]
    """By the names of the runs: to read more of one; at a URL of copies."""
    folder: Path | None = None
    """The results folder; None at a URL."""
    remote: RemoteRuns | None = None
    """What is at the URL; None for a folder."""


def read_history(place: Path) -> History:
    """Return the runs of a results folder.

    Args:
        place: the folder, which has runs, or folders of evals with runs.

    Raises:
        NoRunError: there is no such folder, or it has no run.
    """
    folders = {name: place / name for name in _find_runs(place)}
    if not folders:
        what = "has no run. Run an eval, or name the folder with its results."
        nothing = "is not a folder. Name a run, or a results folder with runs of evals."
        raise NoRunError(f"{format_path(place)} {what if place.is_dir() else nothing}")
    runs = [_ask(digest_run(folder, name), folder) for name, folder in folders.items()]
    return History(format_path(place), _sort(runs), folders, place)


def _find_runs(place: Path) -> Iterator[str]:
    """Yield the folders of runs, as seen from a results folder: of one that has runs itself these as well."""
    for folder in _list_folders(place):
        if _is_listed(folder):
            yield folder.name
        else:
            yield from (f"{folder.name}/{run.name}" for run in _list_folders(folder) if _is_listed(run))


def _list_folders(place: Path) -> list[Path]:
    try:
        with os.scandir(place) as entries:
            return [Path(one.path) for one in entries if not one.name.startswith(".") and one.is_dir()]
    except OSError:
        return []


def _is_listed(folder: Path) -> bool:
    # A link next to a run, such as one to the latest, would list it twice.
    return is_run(folder, is_empty_allowed=True) and not folder.is_symlink()


def _ask(run: RunDigest, folder: Path) -> RunDigest:
    """Return a run; of one that has no summary it is said whether it is still running."""
    if run.state is not State.UNFINISHED:
        return run
    notes = ("it is still running", "it was cut off; --eval-resume continues it")
    return replace(run, note=notes[RunStore(folder).locks.is_idle()])


def _sort(runs: Sequence[RunDigest]) -> tuple[RunDigest, ...]:
    """Return the runs, the newest first; one of chosen rows is partial where another one of the eval has all.

    Where all runs are of chosen rows, by `-m` for example, they can be compared with each other.
    """
    most: dict[tuple[str, str], int] = {}
    for run in runs:
        for one in run.variants if run.state is State.COMPLETE and not run.left else ():
            key = run.eval, one.name
            most[key] = max(most.get(key, 0), one.figures.tasks)
    marked = (_mark_partial(run, most) for run in runs)
    return tuple(sorted(marked, key=lambda run: run.order, reverse=True))


def _mark_partial(run: RunDigest, most: Mapping[tuple[str, str], int]) -> RunDigest:
    is_short = any(one.figures.tasks < most.get((run.eval, one.name), 0) for one in run.variants)
    if run.state is not State.COMPLETE or not run.left or not is_short:
        return run
    notes = f"{format_count(run.left, 'trial')} of the config not selected", run.note
    return replace(run, state=State.PARTIAL, note="; ".join(filter(None, notes)))


# -- at a URL


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
        folders = {run.run: Path(copies, run.run) for run in found}
        yield History(runs.url, _sort(found), folders, remote=runs)


def _look(runs: RemoteRuns, copies: Path, run: str) -> RunDigest | None:
    """Return a run as it is now, and bring its files if it is done; None for no run."""
    begun: dict[str, Any] = {"run": run, "eval": run.partition("/")[0]}
    at = "1970-01-01T00:00:00.000Z"
    try:
        there = runs.find_parts(run)
        if not there.of:
            return None
        if there.of == 1 and there.done:
            folder = copies / run
            folder.mkdir(parents=True)
            runs.save({f"{there.done[1]}/{name}": folder / name for name in FILES})
            return digest_run(folder, run)
    except UsageError as error:
        return RunDigest(**begun, started_at=at, state=State.DAMAGED, note=str(error))
    note = "begun and not done: it is still running, or was cut off"
    if there.of > 1:
        note = f"{len(there.done)} of {there.of} parts are done; browsereval merge makes one run of them"
    at = there.begun_at.replace("+00:00", ".000Z") or at
    return RunDigest(**begun, started_at=at, state=State.UNFINISHED, note=note)
