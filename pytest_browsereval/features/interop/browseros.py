"""BrowserOS's task folders: ``metadata.json``, ``messages.jsonl``, ``screenshots/``, ``grades.json``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from pytest_browsereval.errors import ErrorSource, TerminationReason
from pytest_browsereval.features.interop.files import find_numbered, read_as, task_folders
from pytest_browsereval.features.interop.stream_events import read_log
from pytest_browsereval.graders.verdicts import Primary
from pytest_browsereval.model.grades import GraderResult, Verdict
from pytest_browsereval.model.results import EvalWarning, TaskError
from pytest_browsereval.model.tasks import RowMetadata, Task
from pytest_browsereval.model.usage import Usage
from pytest_browsereval.run.imports import Imported

KIND = "browseros"
METADATA = "metadata.json"
GRADES = "grades.json"

# BrowserOS lets one grade decide: the first of these, or else the first of all.
PRIMARY = (
    "agisdk_state_diff",
    "infinity_state",
    "performance_grader",
    "webvoyager_grader",
    "fara_combined",
    "fara_grader",
)

SOURCES = {
    "agent_execution": ErrorSource.AGENT,
    "mcp_tool": ErrorSource.TOOL,
    "grading": ErrorSource.GRADER,
    **{source.value: source for source in ErrorSource},
}


class _Block(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


Count = Annotated[int, Field(ge=0, strict=True)]


class _Grade(_Block):
    score: float = Field(ge=0, le=1, strict=True)
    passed: bool = Field(alias="pass", strict=True)
    reasoning: str = ""
    details: dict[str, JsonValue] | None = None


class _Problem(_Block):
    """An error or a warning."""

    source: str = "unknown"
    message: str = ""
    timestamp: str = ""
    details: JsonValue = None

    def fields(self) -> dict[str, Any]:
        """Return what errors and warnings of ours have too."""
        source = SOURCES.get(self.source, ErrorSource.UNKNOWN)
        return {"source": source, "message": self.message, "timestamp": self.timestamp}


class _Tokens(_Block):
    input_tokens: Count = 0
    output_tokens: Count = 0
    cache_read_tokens: Count = 0


class _Metadata(_Block):
    query_id: str = Field(min_length=1)
    query: str = Field(min_length=1)
    dataset: str = ""
    started_at: str = ""
    completed_at: str = ""
    total_duration_ms: float | None = Field(default=None, ge=0, strict=True, allow_inf_nan=False)
    termination_reason: TerminationReason = TerminationReason.UNKNOWN
    final_answer: str | None = None
    errors: list[_Problem] = Field(default_factory=list)
    warnings: list[_Problem] = Field(default_factory=list)
    agent_config: dict[str, JsonValue] = Field(default_factory=dict)
    grader_results: dict[str, _Grade] = Field(default_factory=dict)
    token_usage: _Tokens = _Tokens()
    task_metadata: dict[str, JsonValue] = Field(default_factory=dict)


def read_run(folder: Path) -> list[Imported]:
    """Return the attempts of a run's folder, or of one task's.

    Raises:
        UsageError: a file is missing or wrong; the message names it.
    """
    return [_read(task) for task in task_folders(folder, METADATA)]


def _read(folder: Path) -> Imported:
    file = folder / METADATA
    data = read_as(_Metadata, file)
    messages, cut = read_log(folder / "messages.jsonl")
    found = data.grader_results
    if not found and (folder / GRADES).exists():
        found = read_as(dict[str, _Grade], folder / GRADES)
    grades = {name: _grade(name, grade) for name, grade in found.items()}
    first = next((name for name in PRIMARY if name in grades), next(iter(grades), None))
    return Imported(
        folder=folder,
        task=_task(data),
        messages=messages,
        pictures=find_numbered(folder / "screenshots", r"(\d+)\.(?:png|jpe?g|webp)"),
        final_answer=data.final_answer,
        termination_reason=data.termination_reason,
        started_at=data.started_at,
        completed_at=data.completed_at,
        total_duration_ms=data.total_duration_ms,
        agent_config=data.agent_config,
        grades=grades,
        pass_when="all" if first is None else Primary(primary=first),
        errors=tuple(TaskError(**one.fields(), details={"details": one.details}) for one in data.errors),
        warnings=(*(EvalWarning(**one.fields()) for one in data.warnings), *cut),
        usage=Usage(**data.token_usage.model_dump()),
    )


def _task(data: _Metadata) -> Task:
    known = data.task_metadata
    level, website = (
        value if isinstance(value := known.get(key), str) else None for key in ("difficulty", "website")
    )
    metadata = RowMetadata(original_task_id=data.query_id, website=website, additional=known)
    return Task(
        query_id=data.query_id, query=data.query, dataset=data.dataset, level=level, metadata=metadata
    )


def _grade(name: str, grade: _Grade) -> GraderResult:
    return GraderResult(
        grader=name,
        verdict=Verdict.PASSED if grade.passed else Verdict.FAILED,
        score=grade.score,
        reasoning=grade.reasoning,
        details=grade.details or {},
        fingerprint=f"{KIND}/{name}",
    )
