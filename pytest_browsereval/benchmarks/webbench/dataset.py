"""WebBench: reading and writing tasks on hundreds of live sites, a table without answers."""

from __future__ import annotations

from typing import Any, Literal

from pytest_browsereval.benchmarks.base import BenchmarkConfig, text_of
from pytest_browsereval.benchmarks.originals import address, host_of

READING = "READ"


class WebBenchConfig(BenchmarkConfig):
    """Reads WebBench's CSV: ``ID, Starting URL, Category, Task``, and ``Difficulty`` if it is there.

    ``graders`` have to be named.
    """

    type: Literal["webbench"] = "webbench"
    title = "WebBench"

    def convert(self, original: Any) -> dict[str, Any]:
        """Return a row with the keys of a task.

        Raises:
            RowProblem: a column is missing, or a cell empty.
        """
        query_id, category = text_of(original, "ID"), text_of(original, "Category")
        url, query = address(text_of(original, "Starting URL")), text_of(original, "Task").strip()
        return {
            "query_id": query_id,
            "query": query,
            "start_url": url,
            "tags": [category],
            "level": text_of(original, "Difficulty", default="").strip(),
            "metadata": {
                "website": host_of(url),
                "category": category,
                "additional": {"webbench_id": query_id},
            },
        }

    def list_notes(self, rows: list[dict[str, Any]]) -> list[str]:
        """Return how many rows write on real sites."""
        # People should know before an agent places orders in their name.
        writing = sum(row["metadata"]["category"] != READING for row in rows)
        return [f"WebBench: {writing} of {len(rows)} rows change something on a real site."] * bool(writing)
