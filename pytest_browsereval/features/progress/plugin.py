"""``capture: {checks: each}``: checks of rows asked after every step, and a rule of the gate about them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pytest

from pytest_browsereval.hooks.names import is_worker

if TYPE_CHECKING:
    from pytest_browsereval.capture.context import CaptureContext
    from pytest_browsereval.config import EvalConfig
    from pytest_browsereval.graders.base import GraderConfig
    from pytest_browsereval.model.progress import StepFollower
    from pytest_browsereval.model.tasks import Task


def pytest_browsereval_start(config: pytest.Config) -> None:
    """Refuse a gate that asks for what the run does not record."""
    if is_worker(config):
        return
    from pytest_browsereval.features.progress.part import ProgressPart
    from pytest_browsereval.hooks.controller import controller_key

    config.stash[controller_key].parts["progress"] = ProgressPart()


def pytest_browsereval_follow_attempt(
    capture: CaptureContext, task: Task, graders: Sequence[GraderConfig], eval_config: EvalConfig
) -> StepFollower | None:
    """Return what asks the checks, if the config wants it and a page can answer any."""
    if eval_config.capture.checks != "each":
        return None
    from pytest_browsereval.features.progress.curve import make_follower

    return make_follower(capture, task, graders)
