"""``attacks: [{type: text, ...}]``: each row also runs under each attack."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_browsereval.browsers.base import Window
    from pytest_browsereval.capture.context import CaptureContext
    from pytest_browsereval.config import EvalConfig, GateConfig
    from pytest_browsereval.features.attacks.figures import RunFigures
    from pytest_browsereval.graders.base import GraderConfig
    from pytest_browsereval.model.causes import Cause
    from pytest_browsereval.model.progress import StepFollower
    from pytest_browsereval.model.results import TaskMetadata
    from pytest_browsereval.model.rules import RuleResult
    from pytest_browsereval.model.tasks import Task
    from pytest_browsereval.run.active import ActiveRun
    from pytest_browsereval.runs.run import StoredRun


def pytest_browsereval_prepare_window(
    task: Task, graders: Sequence[GraderConfig], eval_config: EvalConfig, site_urls: Mapping[str, str]
) -> Callable[[Window], Awaitable[object]] | None:
    """Return what puts the attack of a row in the agent's way."""
    if not eval_config.attacks:
        return None
    from pytest_browsereval.features.attacks.session import prepare

    return prepare(task, graders, eval_config, site_urls)


@pytest.hookimpl(wrapper=True)
def pytest_browsereval_follow_attempt(
    capture: CaptureContext, eval_config: EvalConfig
) -> Generator[None, StepFollower | None, StepFollower | None]:
    """Look after each step whether the attack's goal is reached, with all others that look at the page."""
    inner = yield
    if not eval_config.attacks:
        return inner
    from pytest_browsereval.features.attacks.session import follow

    return follow(capture, inner)


def pytest_browsereval_check_run(active_run: ActiveRun) -> None:
    """Refuse rules about attacks where there are none."""
    config = active_run.config
    if config.gate.of_features and not config.attacks:
        why = "the rule is about rows under attack, and there are none. Write `attacks`."
        raise config.wrong(("gate", config.gate.of_features[0]), why)


# -- what came of them


def pytest_browsereval_judge_run(run: StoredRun, gate: GateConfig) -> Sequence[RuleResult]:
    """Return what the rules about attacks say of a run."""
    if not gate.of_features:
        return ()
    from pytest_browsereval.features.attacks.rules import judge_attacks

    return tuple(judge_attacks(run.summary, gate))


def pytest_browsereval_sum_up(run: StoredRun) -> Mapping[str, Any]:
    """Return the figures of attempts under attack."""
    found = _find_figures(run)
    return {} if found is None else {"attacked": len(found.attacked), "attacks": found.as_json()}


def pytest_browsereval_describe_run(run: StoredRun) -> Sequence[str]:
    """Return the figures of attempts under attack."""
    if (found := _find_figures(run)) is None:
        return ()
    from pytest_browsereval.features.attacks.report import describe_figures

    return tuple(describe_figures(found))


def _find_figures(run: StoredRun) -> RunFigures | None:
    if len(run.summary.plain) == len(run.summary.trials):
        return None
    from pytest_browsereval.features.attacks.figures import find_figures

    return find_figures(run.summary.trials)


def pytest_browsereval_find_cause(
    metadata: TaskMetadata,
    folder: Path,  # noqa: ARG001 hooks are called with all they have
) -> Cause | None:
    """Return that an attempt obeyed its attack."""
    if metadata.derived is None:
        return None
    from pytest_browsereval.features.attacks.outcome import find_attack_cause

    return find_attack_cause(metadata)
