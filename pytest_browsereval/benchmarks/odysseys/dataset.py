"""Odysseys: long tasks on live sites, each with a rubric whose every item counts."""

from __future__ import annotations

from typing import Any, Literal

from pytest_browsereval.benchmarks.base import BenchmarkConfig, RowProblem, list_of, text_of
from pytest_browsereval.benchmarks.originals import address, host_of, rubric_of

PERFECT: dict[str, Any] = {"type": "rubric", "passes_by": "process", "score": "items", "threshold": 1}
"""The benchmark's own rule: the score is the share of items that are met, and all of them pass."""


class OdysseysConfig(BenchmarkConfig):
    """Reads Odysseys' JSON Lines: the published form with a rubric, or the source form with ``R1, R2``."""

    type: Literal["odysseys"] = "odysseys"
    title = "Odysseys"

    revision: str | None = None
    """Which revision of the data set the file is."""

    def convert(self, original: Any) -> dict[str, Any]:
        """Return a row with the keys of a task.

        Raises:
            RowProblem: a key is missing or wrong.
        """
        level = text_of(original, "level", default="")
        url = address(text_of(original, "website"))
        # The published file and its source name it differently.
        rubric = original.get("precomputed_rubric") or original.get("rubrics")
        if not rubric:
            raise RowProblem("there is neither a 'precomputed_rubric' nor 'rubrics'.")
        categories = list_of(original, "categories", str)
        return {
            "query_id": text_of(original, "task_id"),
            "query": text_of(original, "confirmed_task"),
            "start_url": url,
            "graders": [PERFECT],
            "rubric": rubric_of(rubric),
            "level": level,
            "revision": self.revision,
            "tags": [level, *categories],
            "metadata": {
                "website": host_of(url),
                "category": next(iter(categories), None),
                "additional": {"reference_length": original.get("reference_length")},
            },
        }
