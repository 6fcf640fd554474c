"""The trajectory scorer of the design documents, "evals2": switched on by environment variables."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from pytest_browsereval.errors import UsageError
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


@dataclass(frozen=True)
class Evals2:
    """What the environment says of it."""

    judge: Mapping[str, str] | None = None
    """The model that scores goal and plan; None: they are scored by rules."""
    output_file: str | None = None

    @classmethod
    def read(cls, environ: Mapping[str, str]) -> Evals2 | None:
        """Return it; None if it is off.

        Args:
            environ: the environment.

        Raises:
            UsageError: the switch is neither on nor off.
        """
        given = environ.get(ENABLE, "").strip().lower()
        if given not in (*ON, *OFF):
            raise UsageError(f"{ENABLE} is {given!r}. Set it to true or false.")
        if given in OFF:
            return None
        judge = None
        if environ.get(KEY):
            judge = {"provider": "openai", "model": environ.get(MODEL) or DEFAULT_MODEL, "api_key": KEY}
            if base_url := environ.get(BASE_URL):
                judge["base_url"] = base_url
        return cls(judge=judge, output_file=environ.get(OUTPUT_FILE) or None)

    def make_grader(self, registry: Registry, *, asks_models: bool) -> GraderConfig:
        """Return the grader that is asked besides those of config and rows; it never decides.

        Args:
            registry: the members that there are.
            asks_models: False where calls of models are recorded or replayed, which have none of this one.
        """
        block: dict[str, object] = {"name": LABEL, "advisory": True}
        if self.judge is not None and asks_models:
            block |= {"method": "model", "judge": dict(self.judge)}
        from pytest_browsereval.features.judges.trajectory_score import TrajectoryScoreGrader

        return TrajectoryScoreGrader.model_validate(block, context={"registry": registry})

    def describe(self, *, asks_models: bool) -> str:
        """Return what a reader of the run should know."""
        model = self.judge["model"] if self.judge is not None and asks_models else None
        by = f"by the model {model}" if model else "by rules"
        return f"{ENABLE}: every trajectory is scored {by}; the grade {LABEL!r} decides nothing"


class Scoring:
    """Has each trajectory of a session scored.

    Args:
        evals2: what the environment says.
        session: the eval session of this process.
    """

    def __init__(self, evals2: Evals2, session: EvalSession) -> None:
        self._evals2 = evals2
        self._asks_models = session.cassettes.mode == LIVE

    def pytest_browsereval_add_graders(self, registry: Registry) -> Sequence[GraderConfig]:
        """Return the grader."""
        return [self._evals2.make_grader(registry, asks_models=self._asks_models)]

    def pytest_browsereval_check_run(self) -> Sequence[str]:
        """Return that it is asked."""
        return [self._evals2.describe(asks_models=self._asks_models)]


def score_runs(config: pytest.Config) -> None:
    """Have the runs of a session scored if the environment says so.

    Raises:
        pytest.UsageError: it is wrong.
    """
    try:
        evals2 = Evals2.read(os.environ)
    except UsageError as error:
        raise pytest.UsageError(redact_known(str(error))) from None
    if evals2 is None:
        return
    session = config.stash[eval_session_key]
    config.pluginmanager.register(Scoring(evals2, session), "browsereval-scoring")
    if evals2.output_file is not None:
        file = ScoreFile(config.invocation_params.dir / evals2.output_file, session.began)
        config.pluginmanager.register(file, "browsereval-scores")


class ScoreFile:
    """``EVALS2_OUTPUT_FILE``: gets ``{query, score, timestamp}`` once a trial has its verdict.

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
        score: dict[str, Any] = {name: grade.details.get(name) for name in SCORES}
        score["details"] = {name: grade.details[name] for name in COUNTS if name in grade.details}
        line = {"query": metadata.query, "score": score, "timestamp": round(graded * 1000)}
        try:
            with self._path.open("ab", buffering=0) as file:  # in one piece: several processes append
                file.write(json.dumps(line, ensure_ascii=False).encode() + b"\n")
        except OSError as error:
            warnings.warn(pytest.PytestWarning(f"{OUTPUT_FILE}: {error}"), stacklevel=1)
