"""``graders: [rubric]``, ``trajectory_score``, ``performance``, ``fara_combined`` and its three parts."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest

    from pytest_browsereval.registry import Registry


def pytest_browsereval_start(config: pytest.Config) -> None:
    """Score trajectories if the environment says so."""
    from pytest_browsereval.features.judges.environment import score_runs

    score_runs(config)


def pytest_browsereval_register(registry: Registry) -> None:
    """Register the graders; each is imported when a config or a row names it."""
    registry.announce("grader", "rubric", f"{__package__}.rubric:RubricGrader")
    registry.announce("grader", "trajectory_score", f"{__package__}.trajectory_score:TrajectoryScoreGrader")
    place = f"{__package__}.performance:PerformanceGrader"
    registry.announce("grader", "performance", place, aliases=("performance_grader",))
    registry.announce("grader", "fara_alignment", f"{__package__}.fara:FaraAlignmentGrader")
    registry.announce("grader", "fara_rubric", f"{__package__}.fara:FaraRubricGrader")
    registry.announce("grader", "fara_multimodal", f"{__package__}.fara:FaraMultimodalGrader")
    place = f"{__package__}.fara:FaraCombinedGrader"
    # BrowserOS's name, and the short one.
    registry.announce("grader", "fara_combined", place, aliases=("fara_grader", "fara"))
