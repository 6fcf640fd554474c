"""Runs of other systems become run folders of ours: their facts, and nothing that they do not say."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from pytest_browsereval.__main__ import main
from pytest_browsereval.commands.base import open_door
from pytest_browsereval.features.interop.attempts import write_run
from pytest_browsereval.features.interop.command import read_run
from pytest_browsereval.model.messages import AssistantMessage, ErrorMessage
from pytest_browsereval.model.results import TaskMetadata
from pytest_browsereval.run.store import RunStore
from pytest_browsereval.runs.folder import find_pictures, number_of, read_messages
from pytest_browsereval.runs.run import StoredRun
from pytest_browsereval.runs.turns import read_steps
from tests.features.interop.foreign import (
    DESIGNED,
    GRADES,
    STREAM,
    browseros_task,
    webvoyager_task,
    write_json,
    write_lines,
)
from tests.support import LEFT_OUT


@pytest.fixture
def source(tmp_path: Path) -> Path:
    folder = tmp_path / "their-run"
    folder.mkdir()
    return folder


def imported(kind: str, source: Path, tmp_path: Path) -> RunStore:
    return write_run(read_run(open_door(), kind, source), tmp_path / "ours", kind, source)[0]


def only(store: RunStore) -> tuple[Path, TaskMetadata]:
    (attempt,) = StoredRun(store.root).attempts
    return attempt.folder, attempt.metadata


def test_browseros_designed_messages(source: Path, tmp_path: Path) -> None:
    """Metadata, grades and the seven designed message types are taken over; keys are not."""
    write_lines(browseros_task(source) / "messages.jsonl", DESIGNED)
    (source / "summary.json").write_text("{}")
    store = imported("browseros", source, tmp_path)
    folder, data = only(store)
    assert (data.query_id, data.query, data.dataset) == ("Allrecipes--3", "Find a recipe.", "webvoyager")
    assert (data.final_answer, data.termination_reason) == ("Vegetable lasagna", "completed")
    assert (data.total_duration_ms, data.agent_duration_ms, data.cost_usd) == (60000, None, None)
    assert data.total_steps == 1
    assert data.usage.input_tokens == 900
    assert data.warnings[0].source == "tool"
    assert data.agent_config == {"type": "single", "model": "kimi-k2", "apiKey": "***"}
    assert (data.verdict, data.reason) == ("failed", "agisdk_state_diff: No order.")
    assert {name: grade.fingerprint for name, grade in data.grader_results.items()} == {
        name: f"browseros/{name}" for name in GRADES
    }
    messages = list(read_messages(folder))
    assert [m.type for m in messages] == [line["type"] for line in DESIGNED]
    (step, *_) = read_steps(messages)
    assert step.result
    assert step.result.screenshot == 1
    assert [(number_of(p), p.suffix) for p in find_pictures(folder)] == [(1, ".png"), (3, ".jpeg")]
    assert store.run.read_manifest()["imported_from"]["kind"] == "browseros"
    assert str(tmp_path) not in (store.root / "manifest.json").read_text()
    assert StoredRun(store.root).summary.as_json()["failed"] == 1


def test_browseros_stream_events(source: Path, tmp_path: Path) -> None:
    """The released form gives the same log: texts put together, errors told."""
    task = browseros_task(source, grader_results={})
    write_lines(task / "messages.jsonl", STREAM)
    with (task / "messages.jsonl").open("a") as file:
        file.write('{"type":"text-delta","id"')
    grade = {"score": 0.9, "pass": True, "reasoning": "Two of three."}
    write_json(task / "grades.json", {"fara_combined": grade})
    folder, data = only(imported("browseros", source, tmp_path))
    messages = list(read_messages(folder))
    assert [m.content for m in messages if isinstance(m, AssistantMessage)] == ["Half done.", "It is right."]
    assert [m.content for m in messages if isinstance(m, ErrorMessage)] == ["overloaded"]
    delegate, navigate, act = read_steps(messages)
    assert (delegate.call.tool, delegate.call.params) == ("delegate", {"instruction": "Look."})
    assert (navigate.call.tool, navigate.call.params) == ("navigate", {"page": 1, "url": "http://r.test"})
    assert navigate.result
    assert (navigate.result.is_error, navigate.result.screenshot) == (False, 1)
    assert (act.call.params, act.output) == ({"input": "not a block"}, "no such ref")
    assert act.result
    assert act.result.is_error
    assert data.verdict == "passed"
    assert [w.message for w in data.warnings[1:]] == [
        "the last line of messages.jsonl was cut off and is left out",
        "1 events (file, source-url) of messages.jsonl are left out",
    ]


def test_browseros_without_a_grade(source: Path, tmp_path: Path) -> None:
    """No grade: errored and waiting for one; an agent that died is errored and stays so."""
    write_lines(browseros_task(source, grader_results={}) / "messages.jsonl", DESIGNED)
    error = {"source": "agent_execution", "message": "provider overloaded", "timestamp": "t"}
    died = browseros_task(source, "x", termination_reason="error", errors=[error])
    write_lines(died / "messages.jsonl", DESIGNED)
    run = StoredRun(imported("browseros", source, tmp_path).root)
    trials = {one.query_id: one.metadata for one in run.attempts}
    waiting = trials["Allrecipes--3"]
    assert (waiting.verdict, waiting.error_source) == ("errored", "grader")
    assert waiting.reason.startswith("not graded yet")
    assert (trials["x"].error_source, trials["x"].errors[0].source) == ("agent", "agent")
    assert "provider overloaded" in trials["x"].reason


def test_webvoyager(source: Path, tmp_path: Path) -> None:
    """Task, actions and answer are read from the talk; pictures keep their numbers and their turns."""
    webvoyager_task(source)
    webvoyager_task(source, "Google Map--7", answer=None)
    store = imported("webvoyager", source, tmp_path)
    attempts = {one.query_id: (one.folder, one.metadata) for one in StoredRun(store.root).attempts}
    folder, data = attempts["Amazon--0"]
    said = (data.query, data.start_url, data.website)
    assert said == ("Search a controller.", "https://shop.test/", "Amazon")
    assert (data.final_answer, data.termination_reason) == ("A green one.", "completed")
    steps = read_steps(read_messages(folder))
    assert [(s.call.tool, s.call.params, s.output, s.result and s.result.screenshot) for s in steps] == [
        ("type", {"argument": "[2]; green controller"}, "Observation: [3]: results", 2),
        ("scroll", {"argument": "[WINDOW]; down"}, "Observation: [5]: green", 4),
    ]
    assert [number_of(p) for p in find_pictures(folder)] == [1, 2, 4]
    _, other = attempts["Google Map--7"]
    assert (other.final_answer, other.termination_reason) == (None, "unknown")
    assert other.total_steps == 3


@pytest.mark.slow
def test_a_foreign_run_is_graded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """An imported run, with the rows that know its answers, is graded by a config of ours."""
    webvoyager_task(tmp_path / "theirs")
    webvoyager_task(tmp_path / "theirs", "Amazon--1", answer=None)
    query = "Search a controller."
    rows = [{"query_id": f"Amazon--{n}", "query": query, "answer": "A green one."} for n in (0, 1)]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    config = {"agent": "noop", "dataset": "rows.jsonl", "graders": ["answer"]}
    (tmp_path / "grade.json").write_text(json.dumps(config))

    monkeypatch.chdir(tmp_path)
    main(["import-run", "webvoyager", "theirs", "-o", "run", "--rows", "rows.jsonl"])
    assert "2 attempts in run: 0 passed, 0 failed, 2 errored" in capfd.readouterr().out
    again = [sys.executable, "-m", "pytest", *LEFT_OUT, "--eval-config=grade.json", "--eval-regrade=run"]
    done = subprocess.run(again, capture_output=True, text=True, check=False)
    printed = done.stdout
    assert done.returncode == 1, printed
    assert "1 errored -> failed, 1 errored -> passed" in printed, printed
    assert "Amazon--1" in printed
    assert json.loads((tmp_path / "run" / "summary.json").read_text())["passed"] == 1
