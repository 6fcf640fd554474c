"""WebArena-Infinity: tasks on generated apps that run on this machine, each with a verifier of its own."""

from __future__ import annotations

import re
from typing import Any, Literal

from pydantic import Field

from pytest_browsereval.benchmarks.base import BenchmarkConfig, text_of


class InfinityConfig(BenchmarkConfig):
    """Reads the task file of an app, ``apps/APP/real-tasks.json``; the app is one of the ``sites``."""

    type: Literal["infinity"] = "infinity"
    title = "WebArena-Infinity"

    app: str | None = Field(default=None, pattern=r"^[\w.-]+$")
    """The app; by default the name of the file's folder."""
    site: str | None = Field(default=None, pattern=r"^[A-Za-z_]\w*$")
    """The app's name among the ``sites`` of the config; by default the app's name, with ``_`` for characters
    that such names cannot have. Its port is chosen when it starts, so no row has it."""

    def convert(self, original: Any) -> dict[str, Any]:
        """Return a task with the keys of a row.

        Raises:
            RowProblem: a key is missing or wrong.
        """
        task, level = text_of(original, "id"), text_of(original, "difficulty", default="")
        app = self.app or self.path.parent.name
        # Names of apps have dashes, and placeholders of sites cannot.
        site = self.site or re.sub(r"\W|^(?=\d)", "_", app, flags=re.ASCII)
        verifier = text_of(original, "verify")  # checked by the grader, which runs it
        return {
            "query_id": f"infinity-{app}-{task}",
            "query": text_of(original, "instruction"),
            "start_url": f"{{{site}}}/",
            "graders": ["infinity"],
            "level": level,
            "tags": [app, level],
            "sites": [site],
            "requires_reset": True,
            "metadata": {
                "original_task_id": task,
                "website": app,
                "additional": {"app_name": app, "difficulty": level, "verifier_path": verifier},
            },
        }
