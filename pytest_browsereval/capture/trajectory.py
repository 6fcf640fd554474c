"""The files of a finished attempt, each written under a temporary name and renamed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel, JsonValue

from pytest_browsereval.datasets.rows import GOLD_KEYS
from pytest_browsereval.model.grades import GraderResult
from pytest_browsereval.model.tasks import TASK_FILE, Task
from pytest_browsereval.redaction.text import redact_json
from pytest_browsereval.run_files import write_json

EVIDENCE_FILE = "evidence.json"
"""What graders observed on the live page, by their names."""

EFFECTS_FILE = "effects.json"
"""What differs in the state of the sites after the attempt; it stays on this machine."""

GRADES_FILE = "grades.json"
"""Every grader's result by its name."""


class TrajectorySaver:
    """Saves what an attempt left behind into its folder.

    Args:
        folder: the attempt's folder, which exists.
        redact: replaces secrets in a text before it is written.
    """

    def __init__(self, folder: Path, *, redact: Callable[[str], str] = str) -> None:
        self._folder = folder
        self._redact = redact

    def _save(self, name: str, value: Any) -> None:
        write_json(self._folder / name, redact_json(value, self._redact))

    def save_evidence(self, evidence: Mapping[str, JsonValue]) -> None:
        """Save what graders observed on the live page; nothing is written when there is nothing."""
        if evidence:
            self._save(EVIDENCE_FILE, dict(evidence))

    def save_task(
        self,
        task: Task,
        graders: Sequence[BaseModel],
        site_urls: Mapping[str, str],
        unobserved: Mapping[str, str],
        *,
        row_hash: str = "",
        observed: Mapping[str, str] | None = None,
    ) -> None:
        """Save what the attempt was about, so that it can be graded again from its folder alone.

        Answers of a protected task are left out.

        Args:
            task: the row, its placeholders filled in.
            graders: that are asked.
            site_urls: base URLs of the sites.
            unobserved: graders that could not observe the page, and why.
            row_hash: of the row before anything was filled in.
            observed: hashes of what graders observed the page for, by their names.
        """
        hidden = {"answer", "rubric", "evals", "solution", "checks", "effects", "milestones"}
        plain = task.model_dump(mode="json", exclude=hidden if task.protected else None)
        if task.protected:
            plain["metadata"]["source"] = None
            for key in GOLD_KEYS:
                plain["metadata"]["additional"].pop(key, None)
        content = {
            "task": plain,
            "graders": [grader.model_dump(mode="json") for grader in graders],
            "site_urls": dict(site_urls),
            "unobserved": dict(unobserved),
            "row_hash": row_hash,
            "observed": dict(observed or {}),
        }
        self._save(TASK_FILE, content)

    def save_grades(self, grades: Mapping[str, GraderResult]) -> None:
        """Save every grader's result by its name."""
        plain = {name: grade.model_dump(mode="json") for name, grade in grades.items()}
        self._save(GRADES_FILE, plain)
