"""Online-Mind2Web: tasks on live sites, replaced one by one as those sites change."""

from __future__ import annotations

import re
from datetime import date
from typing import Any, Literal

from pytest_browsereval.benchmarks.base import BenchmarkConfig, RowProblem, text_of
from pytest_browsereval.benchmarks.originals import address, host_of

# Ends the id of a task that took another one's place: month, day, year.
_REPLACED = re.compile(r"_(\d{2})(\d{2})(\d{2})$")


class OnlineMind2WebConfig(BenchmarkConfig):
    """Reads Online-Mind2Web's rows, a JSON array or JSON Lines."""

    type: Literal["online-mind2web"] = "online-mind2web"
    title = "Online-Mind2Web"

    revision: str | None = None
    """The data set's revision, for rows whose id has no date of its own."""

    def convert(self, original: Any) -> dict[str, Any]:
        """Return a row with the keys of a task; the id keeps its date, which is the row's revision.

        Raises:
            RowProblem: a key is missing or wrong.
        """
        query_id, level = text_of(original, "task_id"), text_of(original, "level")
        url = address(text_of(original, "website"))
        return {
            "query_id": query_id,
            "query": text_of(original, "confirmed_task"),
            "start_url": url,
            "graders": ["mind2web"],
            "level": level,
            "tags": [level],
            "revision": _find_replacement(query_id) or self.revision,
            "metadata": {
                "website": host_of(url),
                "category": level,
                "additional": {"reference_length": original.get("reference_length")},
            },
        }


def _find_replacement(query_id: str) -> str | None:
    """Return the day on which the task was put in the place of another one; None if it was not.

    Raises:
        RowProblem: the id ends like a date and is none.
    """
    if (found := _REPLACED.search(query_id)) is None:
        return None
    month, day, year = map(int, found.groups())
    try:
        return date(2000 + year, month, day).isoformat()
    except ValueError:
        raise RowProblem(
            f"task_id: {query_id!r} ends in {found[0]!r}, which is not a month, day and year."
        ) from None
