"""Recorded attempts as actions, and what each is compared with: a solution, or a passed attempt."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import islice
from pathlib import Path

from pytest_browsereval.errors import DatasetError
from pytest_browsereval.features.causes.actions import SOFT, Action, list_moves, read_actions, read_solution
from pytest_browsereval.features.causes.pages import PageNames
from pytest_browsereval.model.display import one_line
from pytest_browsereval.model.grades import Verdict
from pytest_browsereval.model.results import TaskMetadata
from pytest_browsereval.run.lookup import earlier
from pytest_browsereval.runs.attempt import StoredAttempt
from pytest_browsereval.runs.folder import StoredTask, read_messages, read_stored
from pytest_browsereval.runs.run import StoredRun
from pytest_browsereval.runs.turns import read_steps

MOST_EARLIER = 20
"""Earlier runs that are searched for a passed attempt."""

MOST_MOVES = 500
"""Actions of a way, and of an attempt, that are aligned."""

MOST_PASSED = 5
"""Passed attempts of a row that a failed one is compared with."""


@dataclass(frozen=True)
class Way:
    """The actions that lead to the aim, as far as is known."""

    name: str
    """What reports call it: ``the solution``, or which attempt."""
    actions: tuple[Action, ...]
    knows_pages: bool

    @cached_property
    def moves(self) -> list[Action]:
        """The actions that are aligned."""
        moves = list_moves(self.actions)
        if self.knows_pages:  # an agent has tried what a person who writes a solution does not
            moves = [one for one in moves if not one.error and one.kind not in SOFT]
        return moves[:MOST_MOVES]

    @property
    def waits(self) -> bool:
        """Whether it waits for a page."""
        return any(one.kind == "wait" and not one.error for one in self.actions)

    @property
    def end(self) -> Action | None:
        """Its answer, if it has one."""
        return next((one for one in reversed(self.actions) if one.kind == "end"), None)


@dataclass(frozen=True)
class Attempt:
    """A recorded attempt."""

    folder: Path
    metadata: TaskMetadata
    stored: StoredTask | None
    pages: PageNames
    actions: tuple[Action, ...]

    @cached_property
    def moves(self) -> list[Action]:
        """The actions that are aligned."""
        return list_moves(self.actions)

    @property
    def end(self) -> Action | None:
        """The call that ended it, if the agent made one that was taken."""
        return next((one for one in self.actions[-1:] if one.kind == "end" and not one.error), None)

    @cached_property
    def refused(self) -> set[str]:
        """The types of the graders that said no."""
        grades = self.metadata.grader_results.values()
        bad = [one.grader for one in grades if one.verdict is Verdict.FAILED and not one.advisory]
        graders = self.stored.graders if self.stored is not None else ()
        types = {str(one.get("name") or one.get("type")): str(one.get("type")) for one in graders}
        return {types.get(name, name) for name in bad}

    @property
    def is_about_answer(self) -> bool:
        """Whether all graders that said no look at the answer only: the names of ours say so."""
        return self.refused == {"answer"}

    @property
    def is_protected(self) -> bool:
        """Whether nothing may be said of what would have been right."""
        known = self.metadata.protected
        return known if known is not None else self.stored is None or self.stored.task.protected


def read_attempt(folder: Path, metadata: TaskMetadata) -> Attempt:
    """Return an attempt with its actions; what of it is damaged or missing is left out."""
    try:
        stored = read_stored(folder)
    except DatasetError:  # errored before there was a task
        stored = None
    pages = PageNames(stored.site_urls if stored is not None else {}, metadata.start_url)
    steps = read_steps(read_messages(folder))
    actions = tuple(read_actions(steps, pages, metadata.start_url))
    return Attempt(folder, metadata, stored, pages, actions)


def find_ways(attempt: Attempt) -> list[Way]:
    """Return what an attempt is compared with: the row's solution, or passed attempts of the same row.

    These are of its run, else of the newest earlier run of the eval that has one. Empty if there is none.
    """
    task = attempt.stored.task if attempt.stored is not None else None
    if task is not None and task.solution:
        holds = {one.tool: one.holds for one in attempt.actions}
        solution = tuple(read_solution(task.solution, attempt.pages, holds))
        return [Way("the solution", solution, knows_pages=False)]
    run = attempt.folder.parents[4]
    for root in (run, *_list_earlier(run)):
        if found := list(islice(_list_passed(root, attempt.metadata), MOST_PASSED)):
            of_run = "" if root is run else f" of run {one_line(root.name, 60)}"
            return [_make_way(one, of_run) for one in found]
    return []


@lru_cache(maxsize=8)
def _list_earlier(run: Path) -> tuple[Path, ...]:
    return tuple(islice(earlier(run), MOST_EARLIER))


_find_run = lru_cache(maxsize=8)(StoredRun)


def _list_passed(run: Path, like: TaskMetadata) -> Iterator[StoredAttempt]:
    for one in _find_run(run).update_lines().list_row(like.query_id):
        if one.row_hash == like.row_hash and one.verdict is Verdict.PASSED:
            yield one


def _make_way(one: StoredAttempt, of_run: str) -> Way:
    variant = "" if one.variant == "default" else f" of {one_line(one.variant, 40)}"
    passed = read_attempt(one.local_folder, one.metadata)
    return Way(f"passed trial {one.trial}{variant}{of_run}", passed.actions, knows_pages=True)
