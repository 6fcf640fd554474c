"""Finds graders that cannot judge a stored attempt, since the run did not observe what they need."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from pydantic import JsonValue

from pytest_browsereval.graders.base import GraderConfig
from pytest_browsereval.graders.nested import observation_keys, parts_of
from pytest_browsereval.model.tasks import Task
from pytest_browsereval.runs.folder import StoredTask

NOT_OBSERVED = "the run did not observe it for this grader. Run the task again"

OBSERVED_ELSE = (
    "the run observed something else for this grader, whose options or row have changed since. "
    "Run the task again"
)


def why_unobserved(
    grader: GraderConfig,
    task: Task,
    stored: StoredTask,
    evidence: Mapping[str, JsonValue],
    *,
    redact: Callable[[str], str],
) -> str | None:
    """Return why a grader lacks what it would have read from the live page; None if it lacks nothing.

    Args:
        grader: that is asked now.
        task: that it judges by now.
        stored: of the attempt.
        evidence: of the attempt.
        redact: takes secrets out of a text.
    """
    label = grader.label
    if label in stored.unobserved:
        return stored.unobserved[label]
    asked = {str(block.get("name") or block.get("type")) for block in stored.graders}
    if label not in evidence and label not in asked:
        return NOT_OBSERVED if _needs_window(grader, task) else None
    now = observation_keys([grader], task, redact)
    return None if all(stored.observed.get(key) == now[key] for key in now) else OBSERVED_ELSE


def _needs_window(grader: GraderConfig, task: Task) -> bool:
    """Whether a grader cannot do without having observed; one that does not say so but observes counts."""
    if parts := parts_of(grader):
        return any(_needs_window(part, task) for part in parts)
    page = grader.needs(task).page
    return type(grader).observe is not GraderConfig.observe if page is None else page
