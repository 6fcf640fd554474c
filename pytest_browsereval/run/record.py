"""Record of an attempt: made here for live attempts, imported ones and those that are graded again."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_browsereval.model.results import TaskMetadata
from pytest_browsereval.model.tasks import Task
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
