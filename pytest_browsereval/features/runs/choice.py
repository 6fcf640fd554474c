"""Which run a name stands for: ``latest``, and ``latest-on-main`` or another branch."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path

from pytest_browsereval.errors import UsageError
from pytest_browsereval.features.runs.digest import RunDigest, State
from pytest_browsereval.features.runs.history import NoRunError, read_history, read_remote
from pytest_browsereval.model.remote import RemoteRuns
from pytest_browsereval.run.lookup import LATEST, LATEST_ON
from pytest_browsereval.runs.run import RUN_ID

_FIRST = "Run all rows first, without a baseline: add `--eval-set gate={}` if the gate needs one."


def choose_run(name: str, home: str, before: str | None, remote: RemoteRuns | None = None) -> str | None:
    """Return the run that a name stands for: the newest one, or the newest whole one of a branch.

    Args:
        name: ``latest`` or ``latest-on-BRANCH``.
        home: the folder of the runs of an eval, or its URL.
        before: the id of a run; neither it nor later ones are meant.
        remote: all runs at the URL, where the home is at one.

    Raises:
        UsageError: there is none.
    """
    if name != LATEST and not name.startswith(LATEST_ON):
        return None
    place, _, own = home.replace(os.sep, "/").rpartition("/")
    runs = [run for run in _read(place, remote) if run.run == f"{own}/{run.folder}"]
    return f"{home}/{_choose(name, runs, before).folder}"


def _read(place: str, remote: RemoteRuns | None) -> Sequence[RunDigest]:
    """Return the runs at a place; none if there are none."""
    try:
        if remote is None:
            return read_history(Path(place)).runs
        with read_remote(remote) as found:
            return found.runs
    except NoRunError:
        return ()


def _choose(name: str, runs: Sequence[RunDigest], before: str | None) -> RunDigest:
    if own := next((run for run in runs if run.folder == before), None):
        runs = [run for run in runs if run.order < own.order and own.manifest != (run.manifest or None)]
    elif RUN_ID.fullmatch(before or ""):  # a session's own run is not there yet
        runs = [run for run in runs if re.sub("[-:]", "", run.started_at[:19]) <= str(before)[:15]]
    if name == LATEST:
        # As a baseline, none that nothing can be compared with: a cut-off try of this very run, for example.
        fitting = [run for run in runs if run.state is not State.UNFINISHED] if before else runs
    else:
        branch, whole = name.removeprefix(LATEST_ON), (State.COMPLETE, State.MERGED)
        of_branch = (run for run in runs if run.branch == branch and not run.left)
        fitting = [run for run in of_branch if run.state in whole]
    if not fitting:
        raise UsageError(_describe_none(name, runs))
    return fitting[0]


def _describe_none(name: str, runs: Sequence[RunDigest]) -> str:
    """Return why no run is meant, and what to do: the first run of a branch has nothing to compare with."""
    if name == LATEST or not runs:
        return f"{name}: there is no earlier run. {_FIRST}"
    branch = name.removeprefix(LATEST_ON)
    return (
        f"{name}: no run on {branch!r} is whole (complete, with all rows and all parts). {_FIRST} Runs of "
        "pull requests and with changed files are on no branch."
    )
