"""RUN, as all commands take it: a run's folder, its id, or ``latest``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_browsereval.commands.base import open_door
from pytest_browsereval.errors import UsageError

if TYPE_CHECKING:
    from pytest_browsereval.door import Door
    from pytest_browsereval.runs.run import StoredRun

# Where runs are looked up by id when no config names another folder.
RESULTS = Path("results")

_LOOKUP = "An id is looked up in results/ folders, or among the runs of --config"

_NAMES = "its folder, its URL, its id, 'latest' or 'latest-on-BRANCH'"

HELP = f"a run: {_NAMES}. {_LOOKUP}"

HELP_OF_BASELINE = f"a run ({_NAMES}) or a baseline file. {_LOOKUP}"


def add_config(parser: argparse.ArgumentParser) -> None:
    """Add the option that says where runs are looked up."""
    parser.add_argument(
        "--config", metavar="FILE", type=Path, help="look up an id or 'latest' among the runs of this config"
    )


def open_run(run: str | Path, config: str | Path | None = None) -> StoredRun:
    """Return a finished run, to read it: ``open_run("latest").attempts``.

    Args:
        run: its folder, its id, its URL, ``latest`` or ``latest-on-BRANCH``; ids are looked up below the
            folder ``results``. Of a run at a URL, messages and pictures are fetched when they are asked for.
        config: an eval's config, among whose runs an id is looked up.

    Raises:
        UsageError: there is no such run, or there are several.
    """
    file = None if config is None else Path(config)
    door = open_door(near=file)
    door.check()
    return read_run(door, str(run), file)


def read_run(door: Door, given: str, config: Path | None = None) -> StoredRun:
    """Return a finished run by what was typed, to read it.

    Raises:
        UsageError: there is no such run, or there are several.
    """
    from pytest_browsereval.runs.run import StoredRun

    return StoredRun(find_run(door, given, config, is_empty_allowed=True, with_files=False), door)


def find_run(
    door: Door,
    given: str,
    config: Path | None = None,
    *,
    is_empty_allowed: bool = False,
    is_changed: bool = False,
    with_files: bool = True,
) -> Path:
    """Return the folder of a run by what was typed; of one at a URL a copy.

    Ids are looked up below the results folder of the config, else below ``results`` in the current folder;
    if that has no run, below each ``results`` further down.

    Args:
        door: asks plug-ins for a run at a URL.
        given: what was typed.
        config: the file that ``--config`` names.
        is_empty_allowed: whether a run counts that was ended before its first attempt.
        is_changed: whether the command writes into it, which the copy of a run at a URL is not for.
        with_files: whether pictures, traces and other files of attempts are needed too.

    Raises:
        UsageError: there is no such run, or there are several; the message has the newest ones.
    """
    from pytest_browsereval.run.lookup import (
        LATEST,
        LATEST_ON,
        Runs,
        check_whole,
        describe_unchangeable,
        is_run,
    )

    if "://" in given:
        if is_changed:
            raise UsageError(describe_unchangeable(given))
        return door.fetch_one(given, with_files=with_files)
    if given not in ("", LATEST) and is_run(Path(given), is_empty_allowed=is_empty_allowed):
        if with_files:
            check_whole(Path(given))
        return Path(given)  # a path needs no look-up
    place = None
    if config is not None:
        from pytest_browsereval.config import load_place

        place = load_place(config)
    runs = Runs.near(RESULTS) if place is None else Runs.of(*place)
    if given.startswith(LATEST_ON):
        if len(runs.homes) != 1:
            raise UsageError(
                f"{given}: there are runs of {len(runs.homes)} evals. Name its config with --config."
            )
        return Path(door.choose_run(given, str(runs.homes[0])))
    return runs.find(given, Path(), is_empty_allowed=is_empty_allowed)


def find_runs(
    door: Door,
    given: Iterable[str],
    config: Path | None = None,
    *,
    is_changed: bool = False,
    with_files: bool = True,
    is_empty_allowed: bool = False,
) -> list[Path]:
    """Return the folders of runs as :func:`find_run` does; of one at a URL a copy of each part."""
    folders: list[Path] = []
    for one in given:
        if "://" in one and not is_changed:
            folders += door.fetch_run(one, with_files=with_files)
        else:
            flags = {"is_empty_allowed": is_empty_allowed, "is_changed": is_changed, "with_files": with_files}
            folders.append(find_run(door, one, config, **flags))
    return folders


def note_edited(runs: Iterable[StoredRun]) -> bool:
    """Print a note on each run whose records were edited later; returns whether there is one."""
    from pytest_browsereval.analysis.evidence import contradicting
    from pytest_browsereval.redaction.known import redact_known

    notes = [f"note: {run.name}: {rule.message}" for run in runs if (rule := contradicting(run))]
    for note in notes:
        print(redact_known(note), file=sys.stderr)
    return bool(notes)
