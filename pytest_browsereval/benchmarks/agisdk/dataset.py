"""REAL: tasks on clones of well-known sites, each scored by the state that it leaves behind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from pytest_browsereval.benchmarks.agisdk import files
from pytest_browsereval.benchmarks.base import BenchmarkConfig, Dropped, RowProblem, list_of, text_of
from pytest_browsereval.benchmarks.packages import INSTALLED, find_rows
from pytest_browsereval.config_text import DocumentError, read_text
from pytest_browsereval.config_text.json_text import json_value
from pytest_browsereval.features.shared.row_source import Row


class AgisdkConfig(BenchmarkConfig):
    """Reads REAL's tasks: a folder with a JSON file for each, by default that of the package ``agisdk``."""

    type: Literal["agisdk"] = "agisdk"
    title = "REAL"

    path: Path = INSTALLED
    """The folder with a JSON file for each task; ``:installed``, the default, is that of the
    installed package."""
    version: Literal["v1", "v2"] = "v1"
    """Which of the installed package's tasks: ``v1`` are scored by queries, ``v2`` by scripts."""
    urls: dict[str, str] = Field(default_factory=dict)
    """Where the clones are, by the name of the site, ``{omnizon: "{omnizon}"}``; else the published ones."""

    def file(self, base_dir: Path) -> Path:
        """Return the absolute path of the folder.

        Raises:
            DatasetError: it is that of the package, which is not installed.
        """
        if self.path != INSTALLED:
            return super().file(base_dir)
        return find_rows(self.type, files.PACKAGE, files.tasks_folder(self.version), "--no-deps agisdk")

    def originals(self, path: Path) -> Sequence[Row]:
        """Return the tasks in the order of their files' names.

        Raises:
            DocumentError: there are none, or one is not JSON.
        """
        if not path.is_dir():
            raise DocumentError("it is not a folder; REAL's tasks are a folder with a JSON file for each.")
        tasks = []
        for place, file in enumerate(sorted(path.glob("*.json")), 1):
            try:
                tasks.append((place, json_value(read_text(file))))
            except DocumentError as error:
                raise DocumentError(f"{file.name}: {error}") from None
        if not tasks:
            raise DocumentError("the folder has no JSON file.")
        return tasks

    def convert(self, original: Any) -> dict[str, Any]:
        """Return a task with the keys of a row.

        Raises:
            RowProblem: a key is missing or wrong.
            Dropped: the task is infeasible, or its script is missing.
        """
        name, site = text_of(original, "id"), original.get("website")
        if not isinstance(site, Mapping):
            raise RowProblem(f"the task {name!r} has no block 'website'.")
        website, evals = text_of(site, "id"), list_of(original, "evals", dict)
        if not evals:
            raise RowProblem(f"the task {name!r} has no list of 'evals'.")
        # An infeasible task would lower the score of every agent.
        if original.get("possible") is False:
            raise Dropped("the benchmark says that they are infeasible")
        # A script that lies with the tasks in the package and is empty scores nothing.
        scripts = self.path.parent / "eval_scripts"
        for script in (check["script"] for check in evals if check.get("script")):
            file = scripts / Path(str(script)).name
            if scripts.is_dir() and not (file.is_file() and file.stat().st_size):
                raise Dropped("their script is missing or empty, so nothing can score them")
        kind = text_of(original, "challengeType", default="")
        level = text_of(original, "difficulty", default="")
        has_model = any(check.get("type") == "llm_boolean" for check in evals)
        return {
            "query_id": f"agisdk-{name}",
            "query": text_of(original, "goal"),
            "start_url": self.urls.get(website) or text_of(site, "url"),
            "graders": ["agisdk"],
            "evals": evals,
            "level": level,
            "revision": text_of(original, "version", default=""),
            "tags": [website, kind, "llm_boolean" if has_model else ""],
            "metadata": {
                "original_task_id": name,
                "website": website,
                "category": kind,
                "additional": {
                    "agisdk_task_id": name,
                    "challenge_type": kind,
                    "difficulty": level,
                    "similar_to": text_of(site, "similarTo", default=""),
                    "points": original.get("points", 1),
                },
            },
        }
