"""``trials: {min: 1, max: 8}``: tasks are repeated in rounds until something is decided."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest

    from pytest_browsereval.analysis.reader import StoredRun
    from pytest_browsereval.config import GateConfig
    from pytest_browsereval.model.rules import RuleResult


def pytest_browsereval_start(config: pytest.Config) -> None:
    """Make trials in rounds, in each process; one of them decides."""
    from pytest_browsereval.features.rounds.hooks import RoundControl, RoundOrder, RoundStates
    from pytest_browsereval.hooks.controller import controller_key
    from pytest_browsereval.hooks.names import is_worker

    states = RoundStates()
    config.pluginmanager.register(RoundOrder(config, states), "browsereval-round-order")
    if not is_worker(config):
        controller = config.stash[controller_key]
        control = RoundControl(config, states, controller)
        config.pluginmanager.register(control, "browsereval-round-control")


def pytest_browsereval_judge_run(run: StoredRun, gate: GateConfig) -> Sequence[RuleResult]:
    """Return what the test says of the gate's pass rates, for a run that was made in rounds."""
    from pytest_browsereval.features.rounds.rules import find_summary_standing, judge_floors, read_rounds
    from pytest_browsereval.run.store import RunStore

    rounds = read_rounds(RunStore(run.folder).manifest())
    if rounds is None:
        return ()
    standing = find_summary_standing(run.summary, rounds, gate)
    return tuple(judge_floors(run.summary, rounds, gate, standing))
