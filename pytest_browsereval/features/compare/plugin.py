"""Runs compared with earlier ones: ``--eval-baseline``, rules of a gate, and commands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pytest

from pytest_browsereval.hooks.names import is_worker

if TYPE_CHECKING:
    from pytest_browsereval.config import GateConfig
    from pytest_browsereval.model.rules import RuleResult
    from pytest_browsereval.run.active import ActiveRun
    from pytest_browsereval.runs.run import StoredRun


def pytest_browsereval_start(config: pytest.Config) -> None:
    """Show the comparison if the option is given."""
    if is_worker(config) or config.getoption("eval_baseline") is None:
        return
    from pytest_browsereval.features.compare.hooks import Comparing
    from pytest_browsereval.hooks.controller import controller_key

    comparing = Comparing(config.stash[controller_key])
    config.pluginmanager.register(comparing, "browsereval-comparing")


def pytest_browsereval_check_run(active_run: ActiveRun) -> None:
    """Refuse a gate whose baseline is not there."""
    from pytest_browsereval.features.compare.rules import check_baseline

    check_baseline(active_run.config)


def pytest_browsereval_judge_run(run: StoredRun, gate: GateConfig) -> Sequence[RuleResult]:
    """Return what the rules say that compare with a baseline."""
    if not gate.compares:
        return ()
    from pytest_browsereval.features.compare.rules import judge_run

    return judge_run(run, gate)
