"""Our runs in Online-Mind2Web's form, and foreign ones graded by ours."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from pytest_browsereval.__main__ import main
from pytest_browsereval.capture.message_log import MessageLogger, read_messages
from pytest_browsereval.errors import ErrorSource
from pytest_browsereval.features.interop.attempts import write_run
from pytest_browsereval.features.interop.online_mind2web_writer import folder_names
from pytest_browsereval.features.interop.readers import read_run
from pytest_browsereval.graders.judging.pictures import find_pictures
from pytest_browsereval.graders.judging.steps import list_steps
from pytest_browsereval.model.grades import Verdict
from pytest_browsereval.model.messages import AssistantMessage, ToolCallMessage, ToolResultMessage
from pytest_browsereval.run.store import RunStore, TrialKey
from tests.features.interop.foreign import online_mind2web_task, picture, webvoyager_task
from tests.recorded import attempt


def finished(store: RunStore, query_id: str, verdict: Verdict = Verdict.PASSED, **more: Any) -> Path:
    """Write an attempt with two steps, two pictures and an answer."""
    key = TrialKey(query_id, more.get("variant", "default"), more.get("trial", 1))
    folder = store.begin_attempt(key, "n")
    log = MessageLogger(folder.path)
    log.log(AssistantMessage(content="I look."))
    for number, (tool, params) in enumerate((("click", {"target": "Buy"}), ("done", {"answer": "42"})), 1):
        log.log(ToolCallMessage(tool=tool, tool_call_id=str(number), params=params))
        result = {"ok": tool == "done", "output": "no"}
        log.log(ToolResultMessage(tool_call_id=str(number), result=result, is_error=tool != "done"))
    log.close()
    (folder.path / "screenshots").mkdir()
    for number in (1, 2):
        (folder.path / "screenshots" / f"{number:03d}.jpeg").write_bytes(picture(number, "JPEG"))
    metadata = attempt(query_id, verdict, attempt=folder.number, **more)
    (folder.path / "metadata.json").write_text(metadata.model_dump_json())
    folder.finish()
    return folder.path


def test_there_and_back(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What is written is read again: id, task, answer, actions without the answer, thoughts, pictures."""
    store = RunStore(tmp_path / "run")
    ours = finished(store, "buy/mug")
    finished(store, "broken", Verdict.ERRORED)
    finished(store, "ungraded", Verdict.ERRORED, error_source=ErrorSource.GRADER)
    assert main(["export", str(tmp_path / "run"), "--to=online-mind2web", "-o", str(tmp_path / "out")]) == 0
    assert "left out: broken: errored (site)" in capsys.readouterr().out
    (result,) = (tmp_path / "out").glob("buy*/result.json")
    content = json.loads(result.read_text())
    assert content["task_id"] == "buy/mug"
    assert content["action_history"] == ['click(target="Buy") -> failed']
    assert content["thoughts"] == ["I look."]
    assert (
        content["image_names"]
        == ["0001.jpeg", "0002.jpeg"]
        == sorted(path.name for path in (result.parent / "trajectory").iterdir())
    )
    back = write_run(
        read_run("online-mind2web", tmp_path / "out"), tmp_path / "back", "online-mind2web", tmp_path / "out"
    )
    attempts = {data.query_id: (folder, data) for folder, data in back.attempts()}
    assert set(attempts) == {"buy/mug", "ungraded"}
    folder, data = attempts["buy/mug"]
    assert (data.query, data.final_answer) == ("Do buy/mug.", "42")
    assert [(s.thought, s.params["text"]) for s in list_steps(read_messages(folder))] == [
        ("I look.", 'click(target="Buy") -> failed')
    ]
    assert [p.read_bytes() for p in find_pictures(folder)] == [p.read_bytes() for p in find_pictures(ours)]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes with names")
@pytest.mark.parametrize("name", ["metadata.json", "messages.jsonl", "task.json", "screenshots/001.jpeg"])
def test_a_pipe_in_the_place_of_a_file_is_refused(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """An agent may have left one: to open it would wait without end, and to leave it out would tell a lie."""
    folder = finished(RunStore(tmp_path / "run"), "a", agent_config={"type": "online-mind2web"})
    (folder / name).unlink(missing_ok=True)
    os.mkfifo(folder / name)
    assert main(["export", str(tmp_path / "run"), "--to=online-mind2web", "-o", str(tmp_path / "out")]) == 4
    said = capsys.readouterr().err
    assert name in said
    assert "not a plain file" in said
    assert name != "messages.jsonl" or not (tmp_path / "out").exists()


def test_agents_and_repetitions_are_kept_apart(tmp_path: Path) -> None:
    """The form has one attempt for each task, so each agent's and each repetition's are a folder."""
    store = RunStore(tmp_path / "run")
    for variant, trial in (("a", 1), ("a", 2), ("b", 1)):
        finished(store, "x", variant=variant, trial=trial)
    assert main(["export", str(tmp_path / "run"), "--to=online-mind2web", "-o", str(tmp_path / "out")]) == 0
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["a-1", "a-2", "b-1"]
    assert main(["export", str(tmp_path), "--to=online-mind2web", "-o", str(tmp_path / "more")]) == 4


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
    assert main(["regrade", "run", "--config", "grade.json"]) == 1
    printed = capfd.readouterr().out
    assert "1 errored -> failed, 1 errored -> passed" in printed, printed
    assert "Amazon--1" in printed
    assert json.loads((tmp_path / "run" / "summary.json").read_text())["passed"] == 1


FIRST = {
    "action_history": [
        "click at (12, 34)",
        {"action": "click", "coordinate": [12, 34]},
        "type " + "x" * 3000,
    ],
    "thoughts": ["I look.", None, "I write.", "That is all."],
}
SECOND = {
    "schema_version": "online-mind2web-v2",
    "agent_final_answer": "",
    "final_result_response": None,
    "action_history": [
        {"thought": "A menu.", "action": [5, 6], "screenshot": "2_full_screenshot.png"},
        {"thought": "It is closed.", "action": None},
        {"thought": "I go on.", "action": "click " + "y" * 2000, "screenshot": "10_full_screenshot.png"},
        {"thought": "Done.", "action": "TASK_COMPLETE"},
    ],
}
TRIPS: dict[str, dict[str, Any]] = {
    "points, long actions": FIRST,
    "an empty answer": {**FIRST, "final_result_response": ""},
    "no answer": {**FIRST, "final_result_response": None},
    "the second schema": SECOND,
    "nothing was done": {"action_history": [], "thoughts": []},
}


def content(read: Sequence[Any]) -> list[Any]:
    """Return what an import has read, apart from where."""
    return [
        (
            one.task,
            [message.model_dump(exclude={"timestamp"}) for message in one.messages],
            [path.read_bytes() for path in one.pictures.values()],
            (one.final_answer, one.variant, one.trial),
        )
        for one in read
    ]


@pytest.mark.parametrize("case", TRIPS)
def test_an_import_and_its_export_are_a_round_trip(tmp_path: Path, case: str) -> None:
    """What was imported is exported as it was: actions, thoughts, answer, pictures, keys of others."""
    online_mind2web_task(tmp_path / "theirs", **TRIPS[case])
    run, out = str(tmp_path / "run"), str(tmp_path / "out")
    assert main(["import-run", "online-mind2web", str(tmp_path / "theirs"), "-o", run]) == 0
    assert main(["export", run, "--to=online-mind2web", "-o", out]) == 0
    before, after = (list(read_run("online-mind2web", tmp_path / name)) for name in ("theirs", "out"))
    source = after[0].task.metadata.source
    assert isinstance(source, dict)
    source.pop("image_names")
    assert content(after) == content(before)
    given = json.loads((tmp_path / "theirs/fb7b4f78_110325/result.json").read_text())
    written = json.loads((tmp_path / "out/fb7b4f78_110325/result.json").read_text())
    for key in ("action_history", "thoughts"):
        if case != "the second schema":
            assert written[key] == given[key]


def test_trials_there_and_back(tmp_path: Path) -> None:
    """A run with trials and agents is exported and imported: each attempt is what it was."""
    store = RunStore(tmp_path / "run")
    for variant, trial in (("a", 1), ("a", 2), ("b", 1)):
        finished(store, "X y", variant=variant, trial=trial)
    out = tmp_path / "out"
    assert main(["export", str(tmp_path / "run"), "--to=online-mind2web", "-o", str(out)]) == 0
    assert [path.name for path in sorted(out.glob("*/*"))] == ["X y"] * 3
    assert main(["import-run", "online-mind2web", str(out), "-o", str(tmp_path / "back")]) == 0
    back = RunStore(tmp_path / "back")
    found = {(data.query_id, data.variant, data.trial, data.final_answer) for _, data in back.attempts()}
    assert found == {("X y", "a", 1, "42"), ("X y", "a", 2, "42"), ("X y", "b", 1, "42")}
    shutil.copytree(out / "a-1/X y", out / "a-1/again")
    assert main(["import-run", "online-mind2web", str(out), "-o", str(tmp_path / "more")]) == 4


def test_folders_have_the_ids_of_their_rows() -> None:
    """Other judges take the id from there; only what is no name of a folder everywhere is encoded."""
    ids = ["Allrecipes--3", "wrong & ünï", "a/b", "..", "CON", "x:y", "A", "a", "end.", "l" * 300, "a+2fb"]
    names = folder_names(ids)
    assert [one for one in ids if names[one] == one] == ["Allrecipes--3", "wrong & ünï", "A", "a+2fb"]
    assert len({name.casefold() for name in names.values()}) == len(ids)
    assert not [name for name in names.values() if "/" in name or ":" in name or name.startswith(".")]
