"""A trial that is ready to be attempted: its row, its graders, its agent."""

from __future__ import annotations

from dataclasses import dataclass

from pytest_browsereval.agents.base import AgentConfig
from pytest_browsereval.graders.base import GraderConfig
from pytest_browsereval.model.tasks import Task
from pytest_browsereval.run.store import TrialKey


@dataclass(frozen=True)
class Trial:
    """A row that was read and checked, with who works on it and who judges it."""

    key: TrialKey
    task: Task
    graders: tuple[GraderConfig, ...]
    agent: AgentConfig
    """Of a run that is graded again it is not asked."""
    row_hash: str = ""
    """Of the row, before plug-ins changed it and placeholders were filled in."""
    is_output_passed_on: bool = False
    """Whether what an attempt prints goes on to whoever captures, as the output of a test does."""
    sites: frozenset[str] = frozenset()
    """Sites that the row uses, beside those that it names: placeholders may have been filled in before."""
