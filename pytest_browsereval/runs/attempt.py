"""A finished attempt of a run: its record without long texts, and all else of it when it is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import lru_cache
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from pytest_browsereval.datasets.ids import name_attempt, safe_folder
from pytest_browsereval.errors import ErrorSource, TerminationReason
from pytest_browsereval.model.causes import Cause
from pytest_browsereval.model.derived import Derived
from pytest_browsereval.model.grades import GraderResult, Verdict, differ
from pytest_browsereval.model.messages import Message
from pytest_browsereval.model.probe import Probe
from pytest_browsereval.model.results import TaskMetadata
from pytest_browsereval.model.tasks import TASK_FILE, Task
from pytest_browsereval.model.trials import TrialKey
from pytest_browsereval.model.usage import Usage
from pytest_browsereval.runs.folder import find_pictures, number_of, read_messages, read_stored
from pytest_browsereval.runs.turns import Entry, StoredStep, TurnReader, list_steps

if TYPE_CHECKING:
    from pytest_browsereval.runs.run import StoredRun

_folder_of = lru_cache(maxsize=65536)(safe_folder)


class GradeDigest(NamedTuple):
    """A grade without long texts, time and cost; the fields are those of ``GraderResult``."""

    grader: str
    verdict: Verdict
    score: float | None
    reasoning: str
    """Kept where one grader of the attempt passed and another one failed; else empty."""
    fingerprint: str
    advisory: bool
    outcome: str
    """Kept for the grade of what the row was derived by, such as an attack; else empty."""


class Line(NamedTuple):
    """Where the record of an attempt is."""

    file: str
    """The name of the file in ``attempts/``."""
    offset: int
    size: int
    """Bytes, without the end of the line."""
    hash: str
    """Of these bytes."""


@dataclass(frozen=True, slots=True)
class StoredAttempt:
    """A finished attempt of a stored run.

    Its main figures are there at once, under their names in ``TaskMetadata``. ``metadata``,
    ``grades``, ``task``, ``messages``, ``turns``, ``steps`` and ``pictures`` read files each time that they
    are asked for; of a run at a URL the first one fetches them. Verdict, score and error are three things: an
    errored attempt has no score, and is not a failure.
    """

    # Slots and no pydantic model: a comparison keeps all attempts of two runs in memory.

    query_id: str
    dataset: str
    variant: str
    trial: int
    attempt: int
    node_id: str
    tags: tuple[str, ...]
    website: str | None
    row_hash: str
    protected: bool | None
    derived: Derived | None
    """What its row was derived from: then it is in no pass rate. None for a plain row."""
    replayed: bool
    started_at: str
    completed_at: str
    total_duration_ms: float | None
    agent_duration_ms: float | None
    grading_duration_ms: float
    total_steps: int
    warning_count: int
    screenshot_count: int
    termination_reason: TerminationReason
    cost_usd: float | None
    """What it cost in US dollars; None if a part of that is not known."""
    verdict: Verdict
    """Passed, failed or errored."""
    error_source: ErrorSource | None
    """What broke, if and only if the verdict is errored."""
    reason: str
    """The reason for the verdict."""
    stops_run: bool
    regraded_at: str | None
    best_progress: float | None
    side_effects: int | None
    is_answered: bool
    """Whether the agent ended on its own, with an answer."""
    probe: Probe | None
    """What the known way of its row came to after it had failed; None if none was played."""
    revision: int
    usage: Usage
    """Tokens, requests and money of the models."""
    grader_results: Mapping[str, GradeDigest]
    run: StoredRun = field(repr=False, compare=False)
    line: Line = field(repr=False, compare=False)
    """Where the record is."""

    # -- what it is

    @property
    def key(self) -> TrialKey:
        """Which trial it is an attempt at."""
        return TrialKey(self.query_id, self.variant, self.trial)

    @property
    def id(self) -> str:
        """``EVAL/RUN/TASK/VARIANT/TRIAL/ATTEMPT``, the same on each machine; names are as in folders."""
        numbers = {"trial": self.trial, "attempt": self.attempt}
        return name_attempt(self.run.eval, self.run.id, self.query_id, self.variant, **numbers)

    @property
    def trial_id(self) -> str:
        """The same without the number of the attempt."""
        return self.id.rpartition("/")[0]

    @property
    def number(self) -> int:
        """Which try at its trial, from 1."""
        return self.attempt

    @property
    def counts(self) -> bool:
        """True for the last attempt of its trial, by which it is counted. Earlier ones have errored."""
        return self.run.find_trial(self).last.attempt == self.attempt

    @property
    def name(self) -> str:
        """Its name in reports: the row's id, with variant and number where these say anything."""
        known = (self.variant != "default", self.variant), (self.trial > 1, str(self.trial))
        more = [part for is_shown, part in known if is_shown]
        return self.query_id + (f"[{'-'.join(more)}]" if more else "")

    # -- what it came to

    @property
    def metadata(self) -> TaskMetadata:
        """Its whole record: query, final answer, errors, warnings, the agent's block.

        Raises:
            UsageError: the file was changed since it was read.
        """
        return self.run.read_record(self)

    @property
    def grades(self) -> Mapping[str, GraderResult]:
        """The grades by the graders' names, with criteria and details; empty if it errored before grading.

        Raises:
            UsageError: the file was changed since it was read.
        """
        return self.metadata.grader_results

    @property
    def cause(self) -> Cause | None:
        """Why it did not pass, by rules over its steps, and the first wrong one; None if it passed."""
        return self.run.door.find_cause(self.metadata, self.folder)

    # -- what is in its folder

    @property
    def place(self) -> str:
        """Its folder below the run's, with slashes."""
        return find_place(self)

    @property
    def local_folder(self) -> Path:
        """Its folder in this copy of the run; a copy of a run at a URL may lack it."""
        return self.run.folder / self.place

    @property
    def folder(self) -> Path:
        """Its folder, with all of its files.

        Raises:
            UsageError: the run is at a URL, and cannot be fetched.
        """
        return self.run.files / self.place

    @property
    def task(self) -> Task | None:
        """The row as it was run, without what is hidden of a protected one; None if it errored before that.

        Raises:
            DatasetError: the file is damaged.
        """
        folder = self.folder
        return read_stored(folder).task if (folder / TASK_FILE).exists() else None

    @property
    def is_protected(self) -> bool:
        """Whether the benchmark asks that answers of the row are never written in plain text.

        What is said in such an attempt (messages, final answer, reasoning, pictures) is to stay on this
        machine. Also true where nobody knows: an attempt of an earlier version that errored before grading.
        """
        task = self.task if self.protected is None else None
        return self.protected if self.protected is not None else task is None or task.protected

    @property
    def messages(self) -> tuple[Message, ...]:
        """The lines of its log, up to one that is damaged."""
        return tuple(read_messages(self.folder))

    @property
    def turns(self) -> tuple[Entry, ...]:
        """The log as turns: each reply of a model with its calls, their results and its delegations.

        Between turns stand the messages of the user and errors.
        """
        return TurnReader(self.messages, self.metadata.agent_config, self.pictures.get).read()

    @property
    def steps(self) -> tuple[StoredStep, ...]:
        """The tool calls with their results, those of executors included, in the order of ``turns``."""
        return tuple(list_steps(self.turns))

    @property
    def pictures(self) -> Mapping[int, Path]:
        """The files of its pictures by their numbers; links are left out."""
        return {number_of(path): path for path in find_pictures(self.folder) if path.is_file()}


def find_trial(data: TaskMetadata | StoredAttempt) -> str:
    """Return the folder of an attempt's trial below the run's, with slashes."""
    return f"tasks/{_folder_of(data.query_id)}/{_folder_of(data.variant)}/{data.trial}"


def find_place(data: TaskMetadata | StoredAttempt) -> str:
    """Return the folder of an attempt below the run's, with slashes."""
    return f"{find_trial(data)}/attempt-{data.attempt}"


_OWN = ("grader_results", "run", "line")
_read_fields = attrgetter(*(one.name for one in fields(StoredAttempt) if one.name not in _OWN))


def make_attempt(metadata: TaskMetadata, run: StoredRun, line: Line) -> StoredAttempt:
    """Return an attempt of a run by its record.

    Args:
        metadata: the record.
        run: the run.
        line: where the record is.
    """
    results = metadata.grader_results
    has_reasons = len(results) > 1 and differ(results.values())
    own = None if metadata.derived is None else metadata.derived.by
    grades = {
        name: GradeDigest(
            one.grader,
            one.verdict,
            one.score,
            one.reasoning if has_reasons else "",
            one.fingerprint,
            one.advisory,
            one.outcome if name == own else "",
        )
        for name, one in results.items()
    }
    values = (*_read_fields(metadata), grades, run, line)
    return StoredAttempt(*values)
