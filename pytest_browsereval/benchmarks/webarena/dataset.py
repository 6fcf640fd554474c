"""WebArena: tasks on self-hosted sites, scored by answer, address and page."""

from __future__ import annotations

from typing import Any, Literal

from pytest_browsereval.benchmarks.webarena.family import KEPT, WebArenaRows, evals_of
from pytest_browsereval.datasets.benchmark import text_of


class WebArenaConfig(WebArenaRows):
    """Reads WebArena's rows, and those of WebArena-Lite."""

    type: Literal["webarena"] = "webarena"
    title = "WebArena"
    package = ("libwebarena", "webarena", "test.raw.json")

    def convert(self, original: Any) -> dict[str, Any]:
        """Return a row with the keys of a task.

        Raises:
            RowProblem: a key is missing or wrong.
            Dropped: it is about a site that is left out.
        """
        row = self.row(original, text_of(original, "start_url"), KEPT)
        return {**row, "graders": ["webarena"], "evals": [self.fill_addresses(evals_of(original))]}
