"""The trajectory scorer of the design documents, "evals2": switched on by environment variables."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import pytest

from pytest_browsereval.graders.base import GraderConfig
from pytest_browsereval.hooks.session import EvalSession, eval_session_key
from pytest_browsereval.model.results import TaskMetadata
from pytest_browsereval.redaction.known import redact_known
from pytest_browsereval.registry import Registry
from pytest_browsereval.run.cassettes import LIVE

ENABLE, OUTPUT_FILE = "ENABLE_EVALS2", "EVALS2_OUTPUT_FILE"
KEY, MODEL, BASE_URL = "OPENAI_API_KEY_FOR_SCORING", "OPENAI_MODEL_FOR_SCORING", "OPENAI_BASE_URL_FOR_SCORING"
DEFAULT_MODEL = "gpt-4o-mini"

LABEL = "evals2"
"""The name of its grade."""

SCORES = ("goalCompletion", "planCorrectness", "successRatio", "contextEfficiency", "weightedTotal")
COUNTS = ("toolCalls", "failedCalls", "retries", "reasoning")

ON, OFF = ("true", "1"), ("", "false", "0")


def pytest_browsereval_start(config: pytest.Config) -> None:
    """Have the trajectories of a session scored if the environment says so.

    Raises:
        pytest.UsageError: it is wrong.
    """
    given = os.environ.get(ENABLE, "").strip().lower()
    if given not in (*ON, *OFF):
        raise pytest.UsageError(redact_known(f"{ENABLE} is {given!r}. Set it to true or false."))
    if given in ON:
        scoring = Scoring(config, config.stash[eval_session_key], os.environ)
        config.pluginmanager.register(scoring, "browsereval-scoring")


class Scoring:
    """Has each trajectory of a session scored.

    ``EVALS2_OUTPUT_FILE`` gets ``{query, score, timestamp}`` once a trial has its verdict.

    Args:
        config: pytest's.
        session: the eval session of this process.
        environ: the environment.

    Raises:
        pytest.UsageError: the file cannot be written.
    """

    def __init__(self, config: pytest.Config, session: EvalSession, environ: Mapping[str, str]) -> None:
        self._began = session.began
        model, base_url = environ.get(MODEL) or DEFAULT_MODEL, environ.get(BASE_URL) or None
        judge = {"provider": "openai", "model": model, "api_key": KEY, "base_url": base_url}
        # Calls of models that are recorded or replayed have none of this one.
        self._judge = judge if environ.get(KEY) and session.cassettes.mode == LIVE else None
        """The model that scores goal and plan; None: they are scored by rules."""
        file = environ.get(OUTPUT_FILE)
        self._file = config.invocation_params.dir / file if file else None
        if self._file is not None:
            try:
                self._file.open("ab").close()
            except OSError as error:
                message = f"{OUTPUT_FILE}: {self._file} cannot be written: {error.strerror}"
                raise pytest.UsageError(message) from None

    def pytest_browsereval_add_graders(self, registry: Registry) -> Sequence[GraderConfig]:
        """Return the grader that is asked besides those of config and rows; it never decides."""
        from pytest_browsereval.features.judges.trajectory_score import TrajectoryScoreGrader

        block: dict[str, object] = {"name": LABEL, "advisory": True}
        if self._judge:
            block |= {"method": "model", "judge": self._judge}
        return [TrajectoryScoreGrader.model_validate(block, context={"registry": registry})]

    def pytest_browsereval_check_run(self) -> Sequence[str]:
        """Return that it is asked."""
        by = f"by the model {self._judge['model']}" if self._judge else "by rules"
        return [f"{ENABLE}: every trajectory is scored {by}; the grade {LABEL!r} decides nothing"]

    def pytest_browsereval_task_done(self, metadata: TaskMetadata) -> None:
        """Append the line of a trial; scoring never breaks a run."""
        grade = metadata.grader_results.get(LABEL)
        graded = datetime.fromisoformat(metadata.regraded_at or metadata.completed_at).timestamp()
        # Trials of earlier sessions have their line.
        if self._file is None or grade is None or grade.score is None or graded < self._began:
            return
        score: dict[str, Any] = {name: grade.details.get(name) for name in SCORES}
        score["details"] = {name: grade.details[name] for name in COUNTS if name in grade.details}
        line = {"query": metadata.query, "score": score, "timestamp": round(graded * 1000)}
        try:
            with self._file.open("ab", buffering=0) as file:  # in one piece: several processes append
                file.write(json.dumps(line, ensure_ascii=False).encode() + b"\n")
        except OSError as error:
            warnings.warn(pytest.PytestWarning(f"{OUTPUT_FILE}: {error}"), stacklevel=1)
