"""``browsereval causes``: why attempts did not pass, and the first step that was wrong."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_browsereval.hooks.names import is_worker

if TYPE_CHECKING:
    from pytest_browsereval.model.causes import Cause
    from pytest_browsereval.model.results import TaskMetadata


def pytest_browsereval_find_cause(metadata: TaskMetadata, folder: Path) -> Cause | None:
    """Return why an attempt did not pass."""
    from pytest_browsereval.features.causes.rules import find_cause

    return find_cause(metadata, folder)


def pytest_browsereval_start(config: pytest.Config) -> None:
    """Count the causes of each run beside its pass rate."""
    if is_worker(config):
        return
    from pytest_browsereval.features.causes.hooks import CausePart
    from pytest_browsereval.hooks.controller import controller_key

    controller = config.stash[controller_key]
    controller.parts["causes"] = CausePart(controller.session.door)
