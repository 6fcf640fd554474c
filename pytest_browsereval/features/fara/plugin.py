"""``graders: [fara_combined]`` and its three parts."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_browsereval.registry import Registry


def pytest_browsereval_register(registry: Registry) -> None:
    """Register the graders; each is imported when a config or a row names it."""
    registry.announce("grader", "fara_alignment", f"{__package__}.alignment:FaraAlignmentGrader")
    registry.announce("grader", "fara_rubric", f"{__package__}.rubric:FaraRubricGrader")
    registry.announce("grader", "fara_multimodal", f"{__package__}.multimodal:FaraMultimodalGrader")
    names = ("fara_grader", "fara")  # BrowserOS's name, and the short one
    registry.announce("grader", "fara_combined", f"{__package__}.combined:FaraCombinedGrader", aliases=names)
