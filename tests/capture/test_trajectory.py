from __future__ import annotations

import json
from pathlib import Path

import pytest

from pytest_browsereval.capture.trajectory import TrajectorySaver, write_whole
from pytest_browsereval.errors import TerminationReason
from pytest_browsereval.model.grades import GraderResult, Verdict
from pytest_browsereval.model.results import TaskMetadata

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
    taken = tmp_path / "taken.json"
    (taken / "child").mkdir(parents=True)
    with pytest.raises(OSError, match="taken"):
        write_whole(taken, "x")
    assert sorted(found.name for found in tmp_path.iterdir()) == ["metadata.json", "taken.json"]


def test_an_attempt_is_saved_and_read_back(tmp_path: Path) -> None:
    """Grades, evidence and metadata are read back as they were, without secrets."""
    saver = TrajectorySaver(tmp_path, redact=lambda text: text.replace("hunter2", "***"))
    grade = GraderResult(grader="answer", verdict=Verdict.PASSED, score=1.0, reasoning="said ünïque hunter2")
    saver.save_grades({"answer": grade})
    saver.save_evidence({"page_state": {"url": "http://shop.test/hunter2"}})
    saver.save_metadata(METADATA)
    texts = {path.name: path.read_text(encoding="utf-8") for path in tmp_path.iterdir()}
    assert set(texts) == {"grades.json", "evidence.json", "metadata.json"}
    assert not any("hunter2" in text for text in texts.values())
    assert (
        GraderResult.model_validate(json.loads(texts["grades.json"])["answer"]).reasoning == "said ünïque ***"
    )
    assert json.loads(texts["evidence.json"]) == {"page_state": {"url": "http://shop.test/***"}}
    assert TaskMetadata.model_validate_json(texts["metadata.json"]).query == "Buy the mug. My key is ***."


def test_a_secret_with_quotes_is_taken_out_too(tmp_path: Path) -> None:
    """JSON writes such a secret in another way than it is."""
    saver = TrajectorySaver(tmp_path, redact=lambda text: text.replace('pass"word', "***"))
    saver.save_evidence({"storage": ['the pass"word']})
    assert json.loads((tmp_path / "evidence.json").read_text()) == {"storage": ["the ***"]}


def test_no_evidence_is_no_file(tmp_path: Path) -> None:
    """Graders that observed nothing leave nothing."""
    TrajectorySaver(tmp_path).save_evidence({})
    assert list(tmp_path.iterdir()) == []
