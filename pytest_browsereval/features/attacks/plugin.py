"""``attacks: [{type: text, ...}]``: each row also runs under each attack."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pytest

from pytest_browsereval.hooks.names import is_worker

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_browsereval.analysis.summary import RunSummary
    from pytest_browsereval.browsers.base import Window
    from pytest_browsereval.capture.context import CaptureContext
    from pytest_browsereval.commands.base import Command
    from pytest_browsereval.config import EvalConfig, GateConfig
    from pytest_browsereval.graders.base import GraderConfig
    from pytest_browsereval.model.causes import Cause
    from pytest_browsereval.model.progress import StepFollower
    from pytest_browsereval.model.results import TaskMetadata
    from pytest_browsereval.model.rules import RuleResult
    from pytest_browsereval.model.tasks import Task
    from pytest_browsereval.registry import Registry

_HOME = "pytest_browsereval.features.attacks"

MEMBERS = {
    "text": "text:TextAttack",
    "hidden": "hidden:HiddenAttack",
    "banner": "banner:BannerAttack",
    "popup": "popup:PopupAttack",
    "image": "picture:PictureAttack",
    "address": "address:AddressAttack",
    "download": "download:DownloadAttack",
    "tool_output": "tool_output:ToolOutputAttack",
    "form": "form:FormAttack",
}
"""The attacks, each with its class among the modules of the folder ``members``."""


def pytest_browsereval_register(registry: Registry) -> None:
    """Register attacks, agents that prove them, the grader of attempts, and what derives rows."""
    from pytest_browsereval.features.attacks.reader import AttackReader

    for name, place in MEMBERS.items():
        registry.announce("attack", name, f"{_HOME}.members.{place}")
    registry.announce("attack", "suite", f"{_HOME}.suites:SuiteAttack")
    registry.announce("agent", "gullible", f"{_HOME}.agents:GullibleConfig")
    registry.announce("agent", "careful", f"{_HOME}.agents:CarefulConfig")
    registry.announce("grader", "attack", f"{_HOME}.grader:AttackGrader")
    registry.add_reader(AttackReader())


def pytest_browsereval_start(config: pytest.Config) -> None:
    """Check configs with attacks, and report what came of them."""
    from pytest_browsereval.features.attacks.hooks import AttackProperties, AttackTable

    config.pluginmanager.register(AttackProperties(), "browsereval-attack-properties")
    if is_worker(config):
        return
    from pytest_browsereval.features.attacks.part import AttackPart
    from pytest_browsereval.hooks.controller import controller_key

    controller = config.stash[controller_key]
    controller.parts["attacks"] = AttackPart()
    config.pluginmanager.register(AttackTable(controller), "browsereval-attack-table")


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
    """Look after each step whether the attack's goal is reached, beside whoever else looks at the page."""
    inner = yield
    if not eval_config.attacks:
        return inner
    from pytest_browsereval.features.attacks.session import follow

    return follow(capture, inner)


# -- what came of them


def pytest_browsereval_commands() -> Sequence[Command]:
    """Return the subcommand ``attacks``."""
    from pytest_browsereval.features.attacks.command import COMMANDS

    return COMMANDS


def pytest_browsereval_judge_run(
    run_folder: Path,  # noqa: ARG001 hooks beside pytest are called with all they have
    summary: RunSummary,
    gate: GateConfig,
) -> Sequence[RuleResult]:
    """Return what the rules about attacks say of a run."""
    from pytest_browsereval.features.attacks.rules import judge_attacks

    return tuple(judge_attacks(summary, gate))


def pytest_browsereval_sum_up(
    run_folder: Path,  # noqa: ARG001 as above
    summary: RunSummary,
) -> Mapping[str, Any]:
    """Return the figures of attempts under attack."""
    from pytest_browsereval.features.attacks.figures import find_figures

    found = find_figures(summary)
    return {} if found is None else {"attacks": found.as_json()}


def pytest_browsereval_describe_run(
    run_folder: Path,  # noqa: ARG001 as above
    summary: RunSummary,
) -> Sequence[str]:
    """Return the figures of attempts under attack, as a session prints them."""
    from pytest_browsereval.features.attacks.figures import find_figures
    from pytest_browsereval.features.attacks.report import list_lines

    found = find_figures(summary)
    return () if found is None else tuple(list_lines(found))


@pytest.hookimpl(tryfirst=True)  # whatever else it did wrong, it did for the attacker
def pytest_browsereval_find_cause(
    metadata: TaskMetadata,
    folder: Path,  # noqa: ARG001 as above
) -> Cause | None:
    """Return that an attempt obeyed its attack."""
    if metadata.attack is None:
        return None
    from pytest_browsereval.features.attacks.hooks import find_attack_cause

    return find_attack_cause(metadata)
