"""``selected.jsonl``: which trials a run is to have, written down before the first of them is attempted.

A session that resumes a run may select others than the one before, and either may be killed: how
many trials the run lacks is known only if it is known which were wanted.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Collection, Iterable, Iterator
from datetime import UTC, datetime
from itertools import islice

from pytest_browsereval.model.messages import now
from pytest_browsereval.model.trials import TrialKey
from pytest_browsereval.run.store import RunStore
from pytest_browsereval.run_files import parse_written, read_written
from pytest_browsereval.runs.rewritten import REWRITTEN, Lost
from pytest_browsereval.runs.run import StoredRun

SELECTED_FILE = "selected.jsonl"
"""In the run folder: trials that sessions have selected, each of them once."""

REGRADED_FILE = "regraded.jsonl"
"""In the run folder: trials that sessions were to grade again, written down before the first of them is."""

AT_ONCE = 1_000
"""Trials in a line."""


def note_selected(store: RunStore, trials: Iterable[TrialKey]) -> None:
    """Write down which trials a session has selected, but for those that are written down already.

    Of a run that was begun without the file nothing is written: it would tell of a part only.

    Raises:
        OSError: it cannot be written.
    """
    known = read_selected(store.run)
    if known is None:
        return
    store.root.mkdir(parents=True, exist_ok=True)
    new = (trial for trial in dict.fromkeys(trials) if trial not in known)
    _append(store, SELECTED_FILE, {"selected_at": now()}, new)


def note_regraded(store: RunStore, trials: Iterable[TrialKey], began: float) -> None:
    """Write down which trials a session is to grade again; each of its processes may do so.

    Args:
        store: the run.
        trials: that are due.
        began: when the session began, in seconds since 1970: the same in all its processes.

    Raises:
        OSError: it cannot be written.
    """
    time = datetime.fromtimestamp(began, UTC).isoformat()
    _append(store, REGRADED_FILE, {"begun_at": time}, iter(trials))


def _append(store: RunStore, name: str, time: dict[str, str], trials: Iterator[TrialKey]) -> None:
    while part := [[trial.query_id, trial.variant, trial.trial] for trial in islice(trials, AT_ONCE)]:
        store.append(name, {**time, "trials": part})


def read_regraded(run: StoredRun) -> dict[TrialKey, str]:
    """Return when the last session began that was to grade a trial again, of each such trial."""
    found: dict[TrialKey, str] = {}
    with contextlib.suppress(OSError):
        # A line that a kill has cut is of a session that has graded nothing yet.
        for trials in run.read_lines(
            REGRADED_FILE, lambda line: {TrialKey(*trial): str(line["begun_at"]) for trial in line["trials"]}
        ):
            found |= trials
    return found


def read_selected(run: StoredRun) -> frozenset[TrialKey] | None:
    """Return the trials that all sessions of a run have selected; None if the run does not tell.

    A run that was begun before there was such a file does not, nor does one whose file is damaged.
    """
    try:
        lines = read_written(run.folder / SELECTED_FILE).splitlines()
    except FileNotFoundError:
        return None if (run.folder / "manifest.json").exists() else frozenset()
    except OSError:
        return None
    try:
        return frozenset(TrialKey(*trial) for line in lines for trial in parse_written(line)["trials"])
    except (ValueError, KeyError, TypeError):
        return None


def list_damaged(run: StoredRun, selected: Collection[TrialKey] | None) -> list[str]:
    """Return which files of a run cannot be read whole, so that what the run was to have is unknown.

    Args:
        run: the run.
        selected: what ``read_selected`` has returned.
    """
    damaged = []
    if os.path.lexists(run.folder / SELECTED_FILE) and not selected:
        damaged.append(SELECTED_FILE)
    if Lost(run.folder).is_damaged:
        damaged.append(REWRITTEN)
    return damaged


def count_wanted(run: StoredRun) -> int | None:
    """Return how many trials a run is to have, also of one that was killed; None if it does not tell."""
    trials = read_selected(run)
    return len(trials) if trials else run.count_planned()
