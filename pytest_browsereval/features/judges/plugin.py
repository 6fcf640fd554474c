"""``graders: [rubric]``, ``trajectory_score``, ``performance``, ``fara_combined`` and its three parts."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest


def pytest_browsereval_start(config: pytest.Config) -> None:
    """Score trajectories if the environment says so."""
    from pytest_browsereval.features.judges.environment import score_runs

    score_runs(config)
