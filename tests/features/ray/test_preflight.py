"""What a plan of pytest says before a run in parts begins."""

from __future__ import annotations

from pytest_browsereval.features.ray.preflight import read_plan


def test_a_plan_has_a_least_and_a_most() -> None:
    """They differ where trials are made until something is decided."""
    head = "===== plan of eval shop ====="
    assert read_plan([head, "to run: 1,200 trials (400 tasks, 3 trials each), at most 2,400 attempts"]) == (
        1200,
        1200,
    )
    assert read_plan([head, "to run: 50 to 400 trials (50 tasks, 1 to 8 trials each)"]) == (50, 400)
