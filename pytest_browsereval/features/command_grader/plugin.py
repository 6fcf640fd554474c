"""``graders: [{type: command}]``: a program of the user judges."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_browsereval.registry import Registry


def pytest_browsereval_register(registry: Registry) -> None:
    """Register the grader; it is imported when a config or a row names it."""
    registry.announce("grader", "command", f"{__package__}.grader:CommandGrader")
