"""AssistantBench: questions that take several sites to answer, with answers that are scored by closeness."""

from __future__ import annotations

from typing import Any, Literal

from pytest_browsereval.benchmarks.base import BenchmarkConfig, RowProblem, text_of


class AssistantBenchConfig(BenchmarkConfig):
    """Reads AssistantBench's rows (``id task answer ...``); those of its test set have no answer."""

    type: Literal["assistantbench"] = "assistantbench"
    title = "AssistantBench"

    start_url: str | None = None
    """Where rows without a page of their own start; an empty page by default."""

    def convert(self, original: Any) -> dict[str, Any]:
        """Return a row with the keys of a task; its answer is protected.

        Raises:
            RowProblem: a key is missing or wrong.
        """
        query_id, level = text_of(original, "id"), text_of(original, "difficulty", default="")
        answer = original.get("answer")
        if isinstance(answer, bool) or not isinstance(answer, str | int | float | list | None):
            raise RowProblem("answer: expected a string, a number or a list of strings.")
        return {
            "query_id": query_id,
            "query": text_of(original, "task"),
            "start_url": self.start_url,
            "graders": ["assistantbench"],
            "answer": answer,
            "level": level,
            "tags": [level],
            "protected": True,
            "metadata": {"category": level},
        }
