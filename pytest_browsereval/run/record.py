"""Record of an attempt: made here for live attempts, imported ones and those that are graded again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_browsereval.graders.verdicts import PassWhen
from pytest_browsereval.model.results import TaskMetadata
from pytest_browsereval.model.tasks import Task
from pytest_browsereval.run.grading import Grading, decide
from pytest_browsereval.run.store import TrialKey


@dataclass(frozen=True)
class AttemptRecord:
    """What is on disk of a finished attempt."""

    metadata: TaskMetadata
    folder: Path


def make_metadata(task: Task, key: TrialKey, node_id: str, *, row_hash: str, **figures: Any) -> TaskMetadata:
    """Return the metadata of an attempt: what its row and its trial say, and what it came to.

    Args:
        task: the row.
        key: the trial.
        node_id: of the item.
        row_hash: of the row before plug-ins changed it and placeholders were filled in.
        figures: the other fields of ``TaskMetadata``.
    """
    return TaskMetadata(
        query_id=key.query_id,
        dataset=task.dataset,
        query=task.query,
        variant=key.variant,
        trial=key.trial,
        node_id=node_id,
        tags=task.tags,
        website=task.metadata.website,
        row_hash=row_hash,
        protected=task.protected,
        **figures,
    )


def describe_grading(
    grading: Grading, pass_when: PassWhen, limit: str, redact: Callable[[str], str]
) -> dict[str, Any]:
    """Return the fields of ``TaskMetadata`` that follow from the grades of an attempt.

    Args:
        grading: its grades.
        pass_when: how they become a verdict.
        limit: which limit ended the agent; "" if none did.
        redact: replaces secrets in a text.
    """
    verdict, source, reason = decide(grading.grades, pass_when, limit)
    return {
        "grader_results": grading.grades,
        "grading_duration_ms": round(grading.duration_ms, 3),
        "verdict": verdict,
        "error_source": source,
        "reason": redact(reason),
    }
