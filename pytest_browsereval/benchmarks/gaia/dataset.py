"""GAIA: questions with one short answer each, and its selection for the web."""

from __future__ import annotations

from typing import Any, Literal

from pytest_browsereval.benchmarks.base import BenchmarkConfig, Dropped, RowProblem, text_of

LEVELS = ("1", "2", "3")
HIDDEN = "?"
"""Stands for the answers of the test rows, which are not published."""


class GaiaConfig(BenchmarkConfig):
    """Reads GAIA's rows (``task_id Question Level Final answer``) and GAIA-web's (``id ques web``).

    GAIA is gated and must not be passed on, so its rows are protected.
    """

    type: Literal["gaia"] = "gaia"
    title = "GAIA"

    start_url: str | None = None
    """Where rows without a page of their own start; an empty page by default."""

    def convert(self, original: Any) -> dict[str, Any]:
        """Return a row with the keys of a task.

        Raises:
            RowProblem: a key is missing or wrong.
            Dropped: the question is about a file, which no browser has.
        """
        is_web = isinstance(original, dict) and "ques" in original
        query_id = text_of(original, "id" if is_web else "task_id")
        query, level = text_of(original, "ques" if is_web else "Question"), text_of(original, "Level")
        if level not in LEVELS:
            raise RowProblem(f"Level: expected 1, 2 or 3, not {level[:20]!r}.")
        # An agent in a browser cannot open a spreadsheet of the dataset.
        if text_of(original, "file_name", default=""):
            raise Dropped("they are about a file that comes with them")
        answer = original.get("Final answer")
        if not isinstance(answer, float):  # no text in some copies
            answer = text_of(original, "Final answer", default="")
        return {
            "query_id": query_id,
            "query": query,
            "start_url": text_of(original, "web", default="") or self.start_url,
            "graders": ["gaia"],
            "answer": None if answer in ("", HIDDEN) else str(answer),
            "level": int(level),
            "tags": [f"level{level}"],
            "protected": True,
            "metadata": {"original_task_id": text_of(original, "task_id", default=query_id)},
        }
