"""Registers the members of this benchmark."""

from __future__ import annotations

from pytest_browsereval.registry import Registry


def pytest_browsereval_register(registry: Registry) -> None:
    """Register what this folder brings; each is imported when a config or a row names it."""
    registry.announce("dataset", "online-mind2web", f"{__package__}.online_dataset:OnlineMind2WebConfig")
    registry.announce("dataset", "mind2web", f"{__package__}.dataset:Mind2WebConfig")
    registry.announce(
        "grader",
        "mind2web",
        f"{__package__}.grader:Mind2WebGrader",
        aliases=("mind2web_judge", "mind2web_grader"),
    )
