"""Runs in the form of other systems: what a format reads, and the format itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import JsonValue

from pytest_browsereval.errors import ErrorSource, TerminationReason
from pytest_browsereval.graders.verdicts import PassWhen, combine
from pytest_browsereval.model.grades import GraderResult, Verdict
from pytest_browsereval.model.messages import Message
from pytest_browsereval.model.results import EvalWarning, TaskError
from pytest_browsereval.model.tasks import Task
from pytest_browsereval.model.trials import TrialKey
from pytest_browsereval.model.usage import Usage

NOT_GRADED = "not graded yet: `pytest --eval-regrade=RUN` does it"


@dataclass(frozen=True)
class Imported:
    """An attempt of another system. What its record does not say stays unknown here too."""

    folder: Path
    """Where it was read from."""
    task: Task
    messages: Sequence[Message]
    pictures: Mapping[int, Path]
    """By their numbers, from 1."""
    final_answer: str | None = None
    termination_reason: TerminationReason = TerminationReason.UNKNOWN
    started_at: str = ""
    completed_at: str = ""
    total_duration_ms: float | None = None
    agent_config: Mapping[str, JsonValue] = field(default_factory=dict)
    grades: Mapping[str, GraderResult] = field(default_factory=dict)
    pass_when: PassWhen = "all"  # noqa: S105 a rule, not a password
    """How its grades make the verdict there."""
    errors: tuple[TaskError, ...] = ()
    warnings: tuple[EvalWarning, ...] = ()
    usage: Usage = field(default_factory=Usage)
    variant: str = "default"
    trial: int = 1
    number: int = 1
    """Which try at its trial; those of one trial are read in their order."""
    cost_usd: float | None = None

    @property
    def key(self) -> TrialKey:
        """Which trial it is."""
        return TrialKey(self.task.query_id, self.variant, self.trial)

    @property
    def verdict(self) -> tuple[Verdict, ErrorSource | None, str]:
        """The verdict, what broke, and why: by its grades, if the agent came to an end."""
        if self.termination_reason is TerminationReason.ERROR:
            said = self.errors[0].message if self.errors else "its record does not say why"
            return Verdict.ERRORED, ErrorSource.AGENT, f"the agent ended with an error: {said}"
        if not self.grades:
            return Verdict.ERRORED, ErrorSource.GRADER, NOT_GRADED
        return combine(self.grades, self.pass_when)


@dataclass(frozen=True)
class ImportFormat:
    """A form of runs that ``browsereval import-run NAME`` reads.

    ``read`` is given the run's folder, or that of one task, or a file, and returns the attempts; what it
    yields is written one by one. It raises ``UsageError`` with the file that is missing or wrong.
    """

    name: str
    read: Callable[[Path], Iterable[Imported]]
