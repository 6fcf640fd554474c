"""Records what pages of an attempt show and ask for, where a check of its row is about it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pytest_browsereval.browsers.base import Window
    from pytest_browsereval.capture.context import CaptureContext
    from pytest_browsereval.graders.base import GraderConfig
    from pytest_browsereval.model.tasks import Task

_KEYS = ("visited", "request", "called")


def pytest_browsereval_prepare_window(
    task: Task, graders: Sequence[GraderConfig]
) -> Callable[[Window], Awaitable[object]] | None:
    """Record from the beginning, where a check, a milestone or a goal of an attack is about the way."""
    checks = [*task.checks, *(milestone.check for milestone in task.milestones)]
    if not _has_key([checks, [one.model_dump(mode="json") for one in graders]]):
        return None
    from pytest_browsereval.features.way_checks.recording import begin_recording

    return begin_recording


def _has_key(value: Any) -> bool:
    if isinstance(value, Mapping):
        return any(key in value for key in _KEYS) or any(map(_has_key, value.values()))
    return isinstance(value, list | tuple) and any(map(_has_key, value))


@pytest.hookimpl(wrapper=True)
def pytest_browsereval_follow_attempt(capture: CaptureContext) -> Generator[None, Any, Any]:
    """Let the recording know the steps and the log; another plug-in follows."""
    from pytest_browsereval.features.way_checks.recording import RECORDINGS

    if recording := RECORDINGS.get(capture.window):
        recording.capture = capture
    return (yield)
