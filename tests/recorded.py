"""Attempts that were never made, for tests of what is told of them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pytest_browsereval.errors import ErrorSource, TerminationReason
from pytest_browsereval.model.grades import GraderResult, Verdict
from pytest_browsereval.model.results import TaskMetadata
from pytest_browsereval.run.store import RunStore
from pytest_browsereval.runs.attempt import Line, StoredAttempt, make_attempt
from pytest_browsereval.runs.run import StoredRun
from pytest_browsereval.runs.summary import RunSummary
from pytest_browsereval.runs.trial import list_trials

PASSED, FAILED, ERRORED = Verdict


def attempt(query_id: str = "a", verdict: Verdict = PASSED, **more: Any) -> TaskMetadata:
    """Return the metadata of an attempt."""
    score = {PASSED: 1.0, FAILED: 0.0, ERRORED: None}[verdict]
    given: dict[str, Any] = {
        "query_id": query_id,
        "dataset": "unit",
        "query": f"Do {query_id}.",
        "started_at": "2025-01-01T00:00:00.000Z",
        "completed_at": "2025-01-01T00:00:02.000Z",
        "total_duration_ms": 2000.0,
        "total_steps": 3,
        "termination_reason": TerminationReason.COMPLETED,
        "final_answer": "42",
        "verdict": verdict,
        "error_source": ErrorSource.SITE if verdict is ERRORED else None,
        "reason": f"{query_id} {verdict}",
        "cost_usd": 0.0,
        "agent_config": {"type": "scripted"},
        "grader_results": {"answer": GraderResult(grader="answer", verdict=verdict, score=score)},
    }
    return TaskMetadata.model_validate(given | more)


def stored(metadata: TaskMetadata) -> StoredAttempt:
    """Return an attempt of a run that is nowhere, by its record."""
    return make_attempt(metadata, StoredRun(Path("/run")), Line("", 0, 0, ""))


def summary(*attempts: TaskMetadata) -> RunSummary:
    """Return what a run of these attempts came to."""
    return RunSummary(list_trials(map(stored, attempts)))


def write_grades(folder: Path, metadata: TaskMetadata) -> None:
    """Write the grades of an attempt beside its record, as a run does."""
    grades = {name: grade.model_dump(mode="json") for name, grade in metadata.grader_results.items()}
    (folder / "grades.json").write_text(json.dumps(grades))


def read_history(run: Path, query_id: str) -> list[dict[str, Any]]:
    """Return all lines of a row's only trial, the earlier revisions too."""
    (trial,) = (one for one in StoredRun(run).trials if one.last.query_id == query_id)
    return [json.loads(line) for line in trial.last.run.list_history(trial)]


def edit_lines(run: Path, change: Callable[[dict[str, Any]], dict[str, Any] | None]) -> None:
    """Change the lines of a run's attempts as a hand would; None removes one."""
    for file in sorted(run.glob("attempts/*.jsonl")):
        found = [change(json.loads(line)) for line in file.read_bytes().splitlines()]
        file.write_text("".join(f"{json.dumps(one)}\n" for one in found if one is not None))


def change_line(run: Path, query_id: str, **changes: Any) -> None:
    """Change the lines of a row."""
    edit_lines(run, lambda line: {**line, **changes} if line["query_id"] == query_id else line)


def remove_lines(run: Path, query_id: str) -> None:
    """Have the attempts of a row count as never made."""
    edit_lines(run, lambda line: None if line["query_id"] == query_id else line)


def copy_line(run: Path, of: str, **changes: Any) -> None:
    """Add a line that says what that of a row says, but for some changes."""
    for file in sorted(run.glob("attempts/*.jsonl")):
        for line in map(json.loads, file.read_bytes().splitlines()):
            if line["query_id"] == of:
                with (run / "attempts/copied.jsonl").open("a") as copied:
                    copied.write(f"{json.dumps({**line, **changes})}\n")


def spoil_line(run: Path, query_id: str) -> None:
    """Damage the lines of a row."""
    change_line(run, query_id, verdict="splendid")


def write_summary(store: RunStore, **counts: Any) -> None:
    """Write the summary of a run that has the records of its attempts."""
    store.write_summary({**StoredRun(store.root).summary.as_json(), **counts})
