"""The runs of a results folder, read anew each time."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pytest_browsereval.config_text import format_path
from pytest_browsereval.errors import UsageError
from pytest_browsereval.features.runs.digest import RunDigest, RunFiles, State, digest_run
from pytest_browsereval.model.display import format_count
from pytest_browsereval.run.control import CONTROL
from pytest_browsereval.run.store import RunStore

MOST_ASKED = 20
"""Runs without a summary of which a lock says whether they still run."""


@dataclass(frozen=True)
class History:
    """The runs of a results folder, or of a URL."""

    name: str
    """The results folder, or its URL."""
    runs: tuple[RunDigest, ...]
    """The newest first."""
    files: Mapping[str, RunFiles] = field(compare=False)
    """By the names of the runs: to read more of one."""
    folder: Path | None = None
    """The results folder; None at a URL."""


def read_history(place: Path) -> History:
    """Return the runs of a results folder.

    Args:
        place: the folder, which has runs, or folders of evals with runs.

    Raises:
        UsageError: there is no such folder, or it has no run.
    """
    files = {name: RunFiles((place / name,)) for name in find_runs(place)}
    if not files:
        raise UsageError(_describe_nothing(place))
    runs = [digest_run(own, name) for name, own in files.items()]
    newest = sorted(runs, key=lambda run: run.order, reverse=True)
    return History(
        format_path(place), tuple(mark_selections(list(_ask_unfinished(place, newest)))), files, place
    )


def mark_selections(runs: Sequence[RunDigest]) -> Iterator[RunDigest]:
    """Yield the runs; one of fewer rows than others had of the same files is partial: someone selected rows.

    Runs of one selection, by `-m` for example, can be compared with each other.
    """
    most: dict[tuple[str, str, str], int] = {}
    for run in runs:
        for one in run.variants if run.files else ():
            key = run.eval, run.files, one.name
            most[key] = max(most.get(key, 0), one.tasks)
    for run in runs:
        short = [one for one in run.variants if one.tasks < most.get((run.eval, run.files, one.name), 0)]
        if short and run.state is State.COMPLETE:
            of = most[run.eval, run.files, short[0].name]
            some = f"{short[0].tasks} of {format_count(of, 'task')} were selected"
            note = "; ".join(filter(None, (some, run.note)))
            yield run.model_copy(update={"state": State.PARTIAL, "note": note})
        else:
            yield run


def _ask_unfinished(place: Path, runs: Iterable[RunDigest]) -> Iterator[RunDigest]:
    """Yield the runs; of the newest that have no summary it is said whether they still run, as of now."""
    asked = 0
    for run in runs:
        if run.state is State.UNFINISHED and asked < MOST_ASKED:
            asked += 1
            is_idle = RunStore(place / run.run).locks.is_idle()
            why = "it was cut off; --eval-resume continues it" if is_idle else "it still runs"
            yield run.model_copy(update={"note": why})
        else:
            yield run


# -- which runs there are


def find_runs(place: Path) -> Iterator[str]:
    """Yield the folders of runs, as seen from a results folder: of one that has runs itself these as well."""
    for name in _list_folders(place):
        if _is_run(path := f"{place}{os.sep}{name}"):
            yield name
        else:
            below = _list_folders(path)
            yield from (f"{name}/{run}" for run in below if _is_run(f"{path}{os.sep}{run}"))


def _list_folders(folder: str | Path) -> Collection[str]:
    try:
        with os.scandir(folder) as entries:
            return [entry.name for entry in entries if not entry.name.startswith(".") and entry.is_dir()]
    except OSError:
        return ()


def _is_run(folder: str) -> bool:
    # As `run.lookup.is_run` has it, in the order that finds a run by one look. A link next to a run, such as
    # one to the latest, would list it twice.
    isfile, isdir = os.path.isfile, os.path.isdir
    files = ("manifest.json", CONTROL)
    is_one = any(isfile(f"{folder}{os.sep}{name}") for name in files) or isdir(f"{folder}{os.sep}tasks")
    return is_one and not Path(folder).is_symlink()


def _describe_nothing(place: Path) -> str:
    if not place.is_dir():
        return f"{format_path(place)} is not a folder. Name a run, or a results folder with runs of evals."
    return f"{format_path(place)} has no run. Run an eval, or name the folder with its results."
