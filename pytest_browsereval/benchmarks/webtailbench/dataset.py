"""WebTailBench: tasks that may begin anywhere, each with a rubric."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from pytest_browsereval.benchmarks.base import RowProblem, text_of
from pytest_browsereval.benchmarks.originals import address, rubric_of
from pytest_browsereval.benchmarks.second_file import TwoFilesConfig, find_blocks

_RUBRIC_KEYS = ("precomputed_rubric", "rubric")


class WebTailBenchConfig(TwoFilesConfig):
    """Reads WebTailBench: TSV (``benchmark id task_summary``) with a file of rubrics, or JSON Lines."""

    type: Literal["webtailbench"] = "webtailbench"
    title = "WebTailBench"
    second = "rubrics"

    start_url: str | None = None
    """Where tasks without a page begin (the benchmark names none): a search engine, for example."""
    rubrics: Path | None = None
    """A JSON file of rubrics: by id, or a list of blocks with ``id`` and ``precomputed_rubric``. Relative
    to the eval config."""
    split: str | None = None
    """The revision of the rows: ``test`` or ``test_v2``."""

    def convert(self, original: Any) -> dict[str, Any]:
        """Return a row with the keys of a task.

        Raises:
            RowProblem: a key is missing or wrong, or there is no start page.
        """
        query_id = text_of(original, "id")
        query = text_of(original, "task_summary" if "task_summary" in original else "ques")
        category = text_of(original, "benchmark" if "benchmark" in original else "category", default="")
        web = text_of(original, "web", default=self.start_url or "")
        if not web:
            raise RowProblem(f"row {query_id!r} has no start page. Write `start_url: https://www.bing.com/`.")
        own = next((original[key] for key in _RUBRIC_KEYS if original.get(key)), None)
        rubric = self._in_file(query_id) if own is None else own
        if rubric is None:
            how = "has none for it" if self.rubrics else "is missing; write `rubrics: FILE`"
            raise RowProblem(f"row {query_id!r} has no rubric, and the file of rubrics {how}.")
        return {
            "query_id": query_id,
            "query": query,
            "start_url": address(web),
            "graders": ["rubric"],
            "rubric": rubric_of(rubric),
            "tags": [category],
            "revision": self.split,
            "metadata": {"category": category},
        }

    def _in_file(self, query_id: str) -> Any:
        value = self._document.value if self._document is not None else {}
        if isinstance(value, list):
            value = dict.fromkeys([query_id], next(iter(find_blocks(value, query_id)), None))
        if not isinstance(value, Mapping):
            raise RowProblem("the file of rubrics holds neither rubrics by id nor a list of blocks.")
        entry = value.get(query_id)
        if isinstance(entry, Mapping):
            return next((entry[key] for key in _RUBRIC_KEYS if entry.get(key)), entry)
        return entry
