"""Finds graders that cannot judge a stored attempt, since the run did not observe what they need."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pydantic import JsonValue

from pytest_browsereval.graders.base import GraderConfig
from pytest_browsereval.graders.nested import observation_keys, parts_of
from pytest_browsereval.model.tasks import Task
from pytest_browsereval.redaction.text import redact_json
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
    by: str | None = None,
) -> str | None:
    """Return why a grader lacks what it would have read from the live page; None if it lacks nothing.

    Args:
        grader: that is asked now.
        task: that it judges by now.
        stored: of the attempt.
        evidence: of the attempt.
        redact: takes secrets out of a text.
        by: what the row was derived by; a grader of that name says what became of it.
    """
    label = grader.label
    if label in stored.unobserved:
        return stored.unobserved[label]
    asked = {str(block.get("name") or block.get("type")) for block in stored.graders}
    if label not in evidence and label not in asked:
        return NOT_OBSERVED if _needs_window(grader, task) else None
    now = observation_keys([grader], task, redact)
    if all(stored.observed.get(key) == now[key] for key in now):
        return None
    return _describe_derived(grader, stored, redact) if label == by else OBSERVED_ELSE


def _describe_derived(grader: GraderConfig, stored: StoredTask, redact: Callable[[str], str]) -> str:
    """Return what is new of what a row was derived by: what an agent has met decides what it has done."""
    given = next((one for one in stored.graders if one.get("type") == grader.type), {})
    before, now = _list_options(given), _list_options(redact_json(grader.model_dump(mode="json"), redact))
    names = [name for name in now if before.get(name) != now[name]]
    return (
        f"the {grader.type} of the attempt had another {' and '.join(names) or 'goal'} "
        "than that of the config. Run the task again"
    )


def _list_options(block: Mapping[str, Any]) -> dict[str, Any]:
    return {"payload": block.get("payload"), "channel": block.get("channel"), **(block.get("block") or {})}


def _needs_window(grader: GraderConfig, task: Task) -> bool:
    """Whether a grader cannot do without having observed; one that does not say so but observes counts."""
    if parts := parts_of(grader):
        return any(_needs_window(part, task) for part in parts)
    page = grader.needs(task).page
    return type(grader).observe is not GraderConfig.observe if page is None else page
