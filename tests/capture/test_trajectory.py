from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from pytest_browsereval.capture.trajectory import TrajectorySaver
from pytest_browsereval.errors import TerminationReason
from pytest_browsereval.model.grades import GraderResult, Verdict
from pytest_browsereval.model.results import ExecutorRecord, TaskMetadata
from pytest_browsereval.model.tasks import TASK_FILE, RowMetadata, Task
from pytest_browsereval.model.trials import TrialKey
from pytest_browsereval.run.store import RunStore
from pytest_browsereval.run_files import write_whole

METADATA = TaskMetadata(
    query_id="buy-mug",
    dataset="shop",
    query="Buy the mug. My key is hunter2.",
    started_at="2026-01-01T00:00:00.000Z",
    completed_at="2026-01-01T00:00:01.000Z",
    total_duration_ms=1000,
    total_steps=1,
    termination_reason=TerminationReason.COMPLETED,
    final_answer="done",
    verdict=Verdict.PASSED,
)


def test_a_file_is_whole_or_not_there(tmp_path: Path) -> None:
    """A write that fails leaves the old content and no temporary file."""
    path = tmp_path / "metadata.json"
    write_whole(path, "old")
    write_whole(path, "new")
    assert path.read_text() == "new"
    with pytest.raises(OSError, match="missing"):
        write_whole(tmp_path / "missing" / "metadata.json", "x")
    with pytest.raises(ZeroDivisionError):
        write_whole(path, (str(1 // number) for number in (1, 0)))
    assert (path.read_text(), list(tmp_path.iterdir())) == ("new", [path])
    taken = tmp_path / "taken.json"
    (taken / "child").mkdir(parents=True)
    with pytest.raises(OSError, match="taken"):
        write_whole(taken, "x")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="is not a file"):
        write_whole(tmp_path / "pipe", "x")
    assert sorted(found.name for found in tmp_path.iterdir()) == ["metadata.json", "pipe", "taken.json"]


def test_an_attempt_is_saved_and_read_back(tmp_path: Path) -> None:
    """Grades, evidence and the record are read back as they were, without secrets."""
    store, redact = RunStore(tmp_path / "run"), lambda text: text.replace("hunter2", "***")
    folder = store.begin_attempt(TrialKey("buy-mug"), "n").path
    saver = TrajectorySaver(folder, redact=redact)
    grade = GraderResult(grader="answer", verdict=Verdict.PASSED, score=1.0, reasoning="said ünïque hunter2")
    saver.save_grades({"answer": grade})
    saver.save_evidence({"page_state": {"url": "http://shop.test/hunter2"}})
    store.save_record(METADATA, redact)
    (lines,) = (store.root / "attempts").iterdir()
    assert json.loads(lines.read_text()) == json.loads((folder / "metadata.json").read_text())
    texts = {path.name: path.read_text(encoding="utf-8") for path in folder.iterdir()}
    assert set(texts) == {"grades.json", "evidence.json", "metadata.json"}
    assert not any("hunter2" in text for text in texts.values())
    assert (
        GraderResult.model_validate(json.loads(texts["grades.json"])["answer"]).reasoning == "said ünïque ***"
    )
    assert json.loads(texts["evidence.json"]) == {"page_state": {"url": "http://shop.test/***"}}
    assert TaskMetadata.model_validate_json(texts["metadata.json"]).query == "Buy the mug. My key is ***."


def test_no_evidence_is_no_file(tmp_path: Path) -> None:
    """Graders that observed nothing leave nothing."""
    TrajectorySaver(tmp_path).save_evidence({})
    assert list(tmp_path.iterdir()) == []


def test_an_executor_is_saved_and_found_by_its_names(tmp_path: Path) -> None:
    """A secret that is a word of ours leaves the file readable; texts are redacted."""
    record = ExecutorRecord(
        executor_id="executor-1",
        span_id="executor-1",
        agent="single",
        instruction="All done? hunter2",
        status="done",
        summary="done",
        termination_reason=TerminationReason.COMPLETED,
        steps_used=1,
        start_url=None,
        current_url="http://shop.test/hunter2",
        started_at="2026-01-01T00:00:00.000Z",
        duration_ms=1.0,
    )
    redact = lambda text: text.replace("hunter2", "***").replace("done", "***")  # noqa: E731
    TrajectorySaver(tmp_path, redact=redact).save_executor(record)
    read = ExecutorRecord.model_validate_json((tmp_path / "executors" / "executor-1.json").read_bytes())
    assert (read.status, read.summary, read.instruction) == ("done", "***", "All ***? ***")
    assert read.current_url == "http://shop.test/***"


def test_nothing_that_judges_a_protected_task_is_saved(tmp_path: Path) -> None:
    """Wherever its row has it; of other tasks all is saved."""
    gold: Any = {"equals": "Quetzaltenango"}
    metadata = RowMetadata(
        additional={"answer": gold, "ground_truth": gold, "precomputed_rubric": gold, "topic": "towns"},
        source=gold,
    )
    task = Task(
        query_id="t",
        query="Which town?",
        answer=gold,
        rubric=gold,
        checks=(gold,),
        evals=(gold,),
        solution=(gold,),
        metadata=metadata,
    )
    TrajectorySaver(tmp_path).save_task(task, [], {}, {})
    assert (tmp_path / TASK_FILE).read_text().count("Quetzaltenango") == 9
    TrajectorySaver(tmp_path).save_task(task.model_copy(update={"protected": True}), [], {}, {})
    text = (tmp_path / TASK_FILE).read_text()
    assert "Quetzaltenango" not in text
    assert json.loads(text)["task"]["metadata"]["additional"] == {"topic": "towns"}
