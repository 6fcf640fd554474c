"""``browsereval causes``: why attempts did not pass, and the first step that was wrong."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_browsereval.model.causes import Cause
    from pytest_browsereval.model.results import TaskMetadata
    from pytest_browsereval.runs.run import StoredRun


def pytest_browsereval_find_cause(metadata: TaskMetadata, folder: Path) -> Cause | None:
    """Return why an attempt did not pass."""
    from pytest_browsereval.features.causes.rules import find_cause

    return find_cause(metadata, folder)


def pytest_browsereval_describe_run(run: StoredRun) -> Sequence[str]:
    """Return how many attempts share a cause."""
    from pytest_browsereval.features.causes.report import count_causes

    return tuple(count_causes(run))
