"""WebChoreArena: long and tedious tasks on WebArena's sites."""

from __future__ import annotations

from typing import Any, Literal

from pytest_browsereval.benchmarks.webarena.family import KEPT, WebArenaRows, evals_of
from pytest_browsereval.datasets.benchmark import text_of

MORE = (
    "start_url_lite",
    "required_obs",
    "type_main",
    "type_sub",
    "description",
    "annotation_note",
    "affects_environment",
    "required_wait",
)


class WebChoreArenaConfig(WebArenaRows):
    """Reads WebChoreArena's rows; those that change a site are to be followed by its reset."""

    type: Literal["webchorearena"] = "webchorearena"
    title = "WebChoreArena"

    def convert(self, original: Any) -> dict[str, Any]:
        """Return a row with the keys of a task.

        Raises:
            RowProblem: a key is missing or wrong.
            Dropped: it is about a site that is left out.
        """
        row = self.row(original, text_of(original, "start_url"), (*KEPT, *MORE))
        kind = text_of(original, "type_main", default="")
        row["metadata"]["category"] = kind or None
        return {
            **row,
            "query_id": f"webchorearena-{text_of(original, 'task_id')}",
            "requires_reset": row["requires_reset"] or original.get("affects_environment") is True,
            "graders": ["webarena"],
            "evals": [self.fill_addresses(evals_of(original))],
        }
