"""``EVALS2_OUTPUT_FILE``: a line for each trajectory that was scored, beside the run folder."""

from __future__ import annotations

import json
import warnings
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from pytest_browsereval.model.grades import GraderResult
from pytest_browsereval.model.results import TaskMetadata
from pytest_browsereval.run.evals2 import LABEL, OUTPUT_FILE

SCORES = ("goalCompletion", "planCorrectness", "successRatio", "contextEfficiency", "weightedTotal")
COUNTS = ("toolCalls", "failedCalls", "retries", "reasoning")


class ScoreFile:
    """Appends ``{query, score, timestamp}`` once a trial has its verdict.

    Args:
        path: the file.
        began: when the session began, in seconds since 1970: trials of earlier ones have their line.

    Raises:
        UsageError: it cannot be written.
    """

    def __init__(self, path: Path, began: float) -> None:
        self._path = path
        self._began = began
        try:
            path.open("ab").close()
        except OSError as error:
            raise pytest.UsageError(f"{OUTPUT_FILE}: {path} cannot be written: {error.strerror}") from None

    def pytest_browsereval_task_done(self, metadata: TaskMetadata) -> None:
        """Append the line of a trial; scoring never breaks a run."""
        grade = metadata.grader_results.get(LABEL)
        graded = datetime.fromisoformat(metadata.regraded_at or metadata.completed_at).timestamp()
        if grade is None or grade.score is None or graded < self._began:
            return
        line = {"query": metadata.query, "score": _score(grade), "timestamp": round(graded * 1000)}
        try:
            with self._path.open("ab", buffering=0) as file:  # in one piece: several processes append
                file.write(json.dumps(line, ensure_ascii=False).encode() + b"\n")
        except OSError as error:
            warnings.warn(pytest.PytestWarning(f"{OUTPUT_FILE}: {error}"), stacklevel=1)


def _score(grade: GraderResult) -> dict[str, Any]:
    scores = {name: grade.details.get(name) for name in SCORES}
    counts = {name: grade.details[name] for name in COUNTS if name in grade.details}
    return {**scores, "details": counts}
