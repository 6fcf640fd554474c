"""``capture: {checks: each}``: checks of rows asked after every step, and a rule of the gate about them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_browsereval.capture.context import CaptureContext
    from pytest_browsereval.config import EvalConfig
    from pytest_browsereval.graders.base import GraderConfig
    from pytest_browsereval.model.progress import StepFollower
    from pytest_browsereval.model.tasks import Task
    from pytest_browsereval.run.active import ActiveRun


def pytest_browsereval_check_run(active_run: ActiveRun) -> None:
    """Refuse a rule about progress in a run that records none."""
    from pytest_browsereval.features.progress.rule import MinProgressRule

    config = active_run.config
    for place, rule in enumerate(config.gate.rules):
        if isinstance(rule, MinProgressRule) and config.capture.checks != "each":
            why = "the rule needs the progress of attempts, which is not recorded."
            raise config.wrong(("gate", "rules", place), f"{why} Write `capture: {{checks: each}}`.")


def pytest_browsereval_follow_attempt(
    capture: CaptureContext, task: Task, graders: Sequence[GraderConfig], eval_config: EvalConfig
) -> StepFollower | None:
    """Return what asks the checks, if the config wants it and a page can answer any."""
    if eval_config.capture.checks != "each":
        return None
    from pytest_browsereval.features.progress.following import make_follower

    return make_follower(capture, task, graders)
