"""``trials: {min: 1, max: 8}``: tasks are repeated in rounds until something is decided."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest

    from pytest_browsereval.config import GateConfig
    from pytest_browsereval.features.rounds.hooks import RoundState
    from pytest_browsereval.model.rules import RuleResult
    from pytest_browsereval.run.active import ActiveRun
    from pytest_browsereval.runs.run import StoredRun


def pytest_browsereval_start(config: pytest.Config) -> None:
    """Make trials in rounds, in each process; one of them decides."""
    from pytest_browsereval.features.rounds.hooks import RoundControl, RoundOrder
    from pytest_browsereval.hooks.controller import controller_key
    from pytest_browsereval.hooks.names import is_worker
    from pytest_browsereval.hooks.session import eval_session_key

    order = RoundOrder(config.stash[eval_session_key])
    config.pluginmanager.register(order, "browsereval-round-order")
    if not is_worker(config):
        control = RoundControl(config, config.stash[controller_key])
        config.pluginmanager.register(control, "browsereval-round-control")


def pytest_browsereval_choose_trials(active_run: ActiveRun) -> RoundState | None:
    """Return the state of a run whose config says that trials are made in rounds."""
    from pytest_browsereval.config.model import RoundsConfig
    from pytest_browsereval.features.rounds.hooks import RoundState

    rounds = active_run.config.trials
    if not isinstance(rounds, RoundsConfig) or not active_run.trials.makes_attempts or active_run.is_planned:
        return None
    return RoundState(active_run, rounds)


def pytest_browsereval_judge_run(run: StoredRun, gate: GateConfig) -> Sequence[RuleResult]:
    """Return what the test says of the gate's pass rates, for a run that was made in rounds."""
    from pytest_browsereval.features.rounds.decision import find_standing, judge_floors, read_rounds

    rounds = read_rounds(run.read_manifest())
    if rounds is None:
        return ()
    return tuple(judge_floors(run.summary, find_standing(run.summary, rounds, gate), gate))
