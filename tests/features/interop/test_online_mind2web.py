"""Runs in the form of Online-Mind2Web."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from pytest_browsereval.__main__ import main
from pytest_browsereval.errors import ErrorSource
from pytest_browsereval.model.grades import Verdict
from pytest_browsereval.model.trials import TrialKey
from pytest_browsereval.run.store import RunStore
from pytest_browsereval.runs.folder import find_pictures
from tests.labelled import write_course
from tests.recorded import attempt


def finished(store: RunStore, query_id: str, verdict: Verdict = Verdict.PASSED, **more: Any) -> Path:
    """Write an attempt with two steps, a picture of the first, and an answer."""
    key = TrialKey(query_id, more.get("variant", "default"), more.get("trial", 1))
    folder = store.begin_attempt(key, "n")
    click = ("click", {"target": "Buy"}, "Nothing matches.")
    write_course(folder.path, click, ("done", {"answer": "42"}, "The task is over."))
    metadata = attempt(query_id, verdict, attempt=folder.number, **more)
    store.save_record(metadata)
    folder.finish()
    return folder.path


def test_what_judges_of_others_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It has id, task, answer, actions without the answer, thoughts and pictures of each attempt."""
    store = RunStore(tmp_path / "run")
    ours = finished(store, "buy/mug")
    finished(store, "broken", Verdict.ERRORED)
    finished(store, "ungraded", Verdict.ERRORED, error_source=ErrorSource.GRADER)
    assert main(["export", str(tmp_path / "run"), "--to=online-mind2web", "-o", str(tmp_path / "out")]) == 0
    assert "left out: broken: errored (site)" in capsys.readouterr().out
    (result,) = (tmp_path / "out").glob("buy*/result.json")
    content = json.loads(result.read_text())
    assert (content["task_id"], content["task"]) == ("buy/mug", "Do buy/mug.")
    assert content["final_result_response"] == "42"
    assert content["action_history"] == ['click(target="Buy") -> failed']
    assert content["thoughts"] == ["I click now."]
    assert content["image_names"] == ["0001.png"]
    pictures = sorted((result.parent / "trajectory").iterdir())
    assert [path.name for path in pictures] == content["image_names"]
    assert [path.read_bytes() for path in pictures] == [path.read_bytes() for path in find_pictures(ours)]
    assert {path.name for path in (tmp_path / "out").iterdir()} == {result.parent.name, "ungraded"}


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes with names")
@pytest.mark.parametrize("name", ["messages.jsonl", "screenshots/001.png"])
def test_a_pipe_in_the_place_of_a_file_is_refused(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """An agent may have left one: to open it would wait without end, and to leave it out would tell a lie."""
    folder = finished(RunStore(tmp_path / "run"), "a")
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
