"""The files of a finished attempt, each written under a temporary name and renamed."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from pydantic import JsonValue

from pytest_browsereval.capture.redaction import redacted
from pytest_browsereval.model.grades import GraderResult
from pytest_browsereval.model.results import TaskMetadata


def write_whole(path: Path, text: str) -> None:
    """Write a file so that a reader sees all of it or none, even if this process is killed.

    Raises:
        OSError: it could not be written; no part of it is left behind under its name.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        temporary.write_text(text, encoding="utf-8")
        temporary.replace(path)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise


_NAMES = ("query_id", "variant", "node_id", "termination_reason", "verdict", "error_source")
"""Fields that others are found by: a secret such as ``default`` must not spoil them."""


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
        self._write(name, redacted(value, self._redact))

    def _write(self, name: str, safe: Any) -> None:
        write_whole(self._folder / name, json.dumps(safe, ensure_ascii=False, indent=1) + "\n")

    def save_evidence(self, evidence: Mapping[str, JsonValue]) -> None:
        """Save what graders observed on the live page; nothing is written when there is nothing."""
        if evidence:
            self._save("evidence.json", dict(evidence))

    def save_grades(self, grades: Mapping[str, GraderResult]) -> None:
        """Save every grader's result by its name."""
        plain = {name: grade.model_dump(mode="json") for name, grade in grades.items()}
        self._save("grades.json", plain)

    def save_metadata(self, metadata: TaskMetadata) -> TaskMetadata:
        """Save the metadata and return it without secrets, for all that is shown of it.

        Call it last: an attempt is finished if and only if this file is there.
        """
        plain = metadata.model_dump(mode="json")
        safe = {**redacted(plain, self._redact), **{name: plain[name] for name in _NAMES}}
        self._write("metadata.json", safe)
        return TaskMetadata.model_validate(safe)
