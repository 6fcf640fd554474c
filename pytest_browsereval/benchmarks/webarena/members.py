"""Registers the members of this benchmark."""

from __future__ import annotations

from pytest_browsereval.registry import Registry


def pytest_browsereval_register(registry: Registry) -> None:
    """Register what this folder brings; each is imported when a config or a row names it."""
    registry.announce(
        "dataset", "webarena", f"{__package__}.dataset:WebArenaConfig", aliases=("webarena-lite",)
    )
    registry.announce(
        "dataset", "webarena-verified", f"{__package__}.verified.dataset:WebArenaVerifiedConfig"
    )
    registry.announce("dataset", "visualwebarena", f"{__package__}.dataset:VisualWebArenaConfig")
    registry.announce("dataset", "webchorearena", f"{__package__}.dataset:WebChoreArenaConfig")
    registry.announce("grader", "webarena", f"{__package__}.grader:WebArenaGrader")
    registry.announce("grader", "webarena_verified", f"{__package__}.verified.grader:WebArenaVerifiedGrader")
