"""Tasks over the last runs of an eval, and what has changed about each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from itertools import pairwise
from typing import Any, NamedTuple

from pytest_browsereval.features.runs.digest import RunDigest, State, find_rows
from pytest_browsereval.features.runs.history import History
from pytest_browsereval.features.shared.manifest_lines import block_of
from pytest_browsereval.model.display import natural
from pytest_browsereval.model.grades import Verdict

LAST = 20
"""Runs."""

NONE, EDITED = ".", "~"
"""Cells without a verdict: no result, and a result of a row that was edited since."""

MOST_TASKS = 2_000
"""Of an eval, the first ones by what has changed; the rest is counted."""

KINDS: Mapping[str, int] = {Verdict.PASSED: 1, Verdict.FAILED: 2, Verdict.ERRORED: 4}
"""A bit for each: sets of 200,000 tasks take 40 MiB."""

LETTERS = (EDITED, "P", "F", "M", "E", "P", "F", "M")
"""Of each sum: an error next to a verdict says nothing, and of nothing all rows were edited."""


class Change(StrEnum):
    """What has become of a task, what to look at first in front."""

    NEWLY_FAILING = "newly failing"
    FIXED = "fixed"
    FLIPPING = "flipping"
    NEVER_PASSED = "never passed"
    ERRORED = "errored"
    EDITED = "row edited"
    STEADY = "passing"


_ORDER = tuple(Change)


class TaskLine(NamedTuple):
    """A task by one variant."""

    query_id: str
    variant: str
    change: Change
    cells: str
    """A letter for each run, the oldest first: P passed, F failed, M both, E errored; or no verdict."""
    quarantine: str
    """The last day on which the newest run's gate leaves it out; empty if it does not."""


def read_grid(
    history: History, runs: Iterable[RunDigest]
) -> tuple[Sequence[RunDigest], Sequence[TaskLine], int]:
    """Return the last runs of an eval, the oldest first; their first tasks, and how many more there are.

    Args:
        history: which reads files of runs.
        runs: of the eval, the newest first.
    """
    having = [run for run in runs if run.state in (State.COMPLETE, State.PARTIAL, State.MERGED)]
    parts = {part for run in having for part in run.parts}  # a merged run has them in it
    chosen = [run for run in having if run.folder not in parts][:LAST][::-1]
    quarantine: Mapping[str, Any] = {}
    versions: dict[tuple[str, str], str] = {}  # of each row the hash in the newest run that has it
    cells: dict[tuple[str, str], list[str]] = {}
    for number in reversed(range(len(chosen))):  # one run at a time: 200,000 trials take 80 MiB
        figures, rows = find_rows(history.folders[chosen[number].run])
        if number == len(chosen) - 1:
            quarantine = block_of(block_of(figures.get("gate")).get("quarantine"))
        own: dict[tuple[str, str], int] = {}
        for row in (one for one in rows if not one.is_derived):
            key = row.query_id, row.variant
            is_edited = row.row_hash and versions.setdefault(key, row.row_hash) != row.row_hash
            own[key] = own.get(key, 0) | (0 if is_edited else KINDS[row.verdict])
        for key, kinds in own.items():
            cells.setdefault(key, [NONE] * len(chosen))[number] = LETTERS[kinds]
    lines = [
        TaskLine(query_id, variant, judge_change(own), "".join(own), str(quarantine.get(query_id, ""))[:10])
        for (query_id, variant), own in cells.items()
    ]
    lines.sort(key=_rank)
    return chosen, lines[:MOST_TASKS], len(lines[MOST_TASKS:])


def _rank(one: TaskLine) -> tuple[object, ...]:
    """Return what sorts tasks: of one kind those first that fail now, then those that change most often."""
    judged = [cell for cell in one.cells if cell in "PFM"]
    is_passing = judged[-1:] == ["P"]
    return _ORDER.index(one.change), is_passing, -_count_turns(judged), natural(one.query_id), one.variant


def _count_turns(judged: Sequence[str]) -> int:
    return sum(one != other for one, other in pairwise(judged))


def judge_change(cells: Sequence[str]) -> Change:
    """Return what has become of a task: errored trials and runs without it say nothing of it.

    Args:
        cells: a letter for each run, the oldest first.
    """
    judged = [cell for cell in cells if cell in "PFM"]
    turns = _count_turns(judged)
    if "M" in judged or turns > 1:
        return Change.FLIPPING
    if turns:
        return Change.FIXED if judged[-1] == "P" else Change.NEWLY_FAILING
    if judged[-1:] == ["F"]:
        return Change.NEVER_PASSED
    if [cell for cell in cells if cell != NONE][-1:] == ["E"]:
        return Change.ERRORED
    return Change.EDITED if EDITED in cells else Change.STEADY
