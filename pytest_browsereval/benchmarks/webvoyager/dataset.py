"""WebVoyager: tasks on fifteen live sites, with reference answers in a file of their own."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from pytest_browsereval.benchmarks.base import RowProblem, list_first, text_of
from pytest_browsereval.benchmarks.originals import address
from pytest_browsereval.benchmarks.second_file import TwoFilesConfig, find_blocks
from pytest_browsereval.config_text import format_path
from pytest_browsereval.errors import DatasetError
from pytest_browsereval.model.display import format_count

TYPES = ("golden", "possible")
"""A golden answer may be matched; a possible one is what a judge compares with."""


class WebVoyagerConfig(TwoFilesConfig):
    """Reads WebVoyager's rows (``web_name id ques web``), those of its subsets and refreshes too."""

    type: Literal["webvoyager"] = "webvoyager"
    title = "WebVoyager"
    second = "reference"

    reference: Path | None = None
    """The file of reference answers, joined by site and number; relative to the eval config."""

    def convert(self, original: Any) -> dict[str, Any]:
        """Return a row with the keys of a task.

        Raises:
            RowProblem: a key is missing or wrong.
            DatasetError: the file of reference answers is not of its shape.
        """
        query_id, site = text_of(original, "id"), text_of(original, "web_name")
        found = self._reference(site, query_id)
        return {
            "query_id": query_id,
            "query": text_of(original, "ques"),
            "start_url": address(text_of(original, "web")),
            "graders": ["webvoyager"],
            "tags": [site],
            "answer": found.get("ans"),
            "metadata": {"website": site, "category": site, "additional": {"answer_type": found.get("type")}},
        }

    def list_notes(self, rows: list[dict[str, Any]]) -> list[str]:
        """Return which rows have no reference answer, where there is a file of them."""
        bare = [row["query_id"] for row in rows if "answer" not in row and self.reference is not None]
        count = format_count(len(bare), "row has", "rows have")
        return [f"WebVoyager: {count} no reference answer: {list_first(bare)}"] * bool(bare)

    def _reference(self, site: str, query_id: str) -> Mapping[str, Any]:
        """Return the entry of a row in the file of reference answers; an empty block if it has none."""
        document = self._document
        blocks = document.value if document is not None and isinstance(document.value, Mapping) else {}
        if document is None or site not in blocks:
            return {}
        number = query_id.rpartition("--")[2]
        if not number.isdigit():
            raise RowProblem(f"id: {query_id!r} does not end in --NUMBER, which reference answers need.")
        listed = blocks[site].get("answers") if isinstance(blocks[site], Mapping) else None
        found = find_blocks(listed, number) if isinstance(listed, list) else [{}]
        # Which of two would be compared depends on the order of a file.
        if len(found) > 1 or any(
            one.get("type") not in TYPES or not isinstance(one.get("ans"), str) for one in found
        ):
            where = f"{format_path(self.reference or self.path)}:{document.line_of((site,)) or 1}"
            entry = '{"answers": [{"id": 3, "type": "golden", "ans": "..."}]}'
            raise DatasetError(
                f"{where}: {site}: expected {entry}, each id once, each type one of {', '.join(TYPES)}."
            )
        return found[0] if found else {}
