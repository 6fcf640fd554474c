"""Folders that cannot be used: told by the file, nothing skipped, nothing read or written elsewhere."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_browsereval.__main__ import main
from pytest_browsereval.commands.base import open_door
from pytest_browsereval.errors import UsageError
from pytest_browsereval.features.interop.attempts import write_run
from pytest_browsereval.features.interop.command import read_run
from pytest_browsereval.runs.run import StoredRun
from tests.features.interop.foreign import (
    DESIGNED,
    browseros_task,
    event,
    picture,
    webvoyager_task,
    write_json,
    write_lines,
)

Spoil = Callable[[Path], object]


def browseros(run: Path, **metadata: Any) -> Path:
    task = browseros_task(run, **metadata)
    write_lines(task / "messages.jsonl", DESIGNED)
    return task


def write_metadata(**fields: Any) -> Spoil:
    return lambda task: browseros_task(task.parent, **fields)


def write_log(*lines: Any) -> Spoil:
    return lambda task: write_lines(task / "messages.jsonl", lines)


def write_file(name: str, content: str | bytes) -> Spoil:
    given = content.encode() if isinstance(content, str) else content
    return lambda task: (task / name).write_bytes(given)


def give_grade(**grade: Any) -> Spoil:
    return write_metadata(grader_results={"p": {"score": 1, "pass": True, **grade}})


BROWSEROS: list[tuple[Spoil, str]] = [
    (lambda task: (task / "metadata.json").unlink(), "no folder has a metadata.json"),
    (lambda task: (task.parent / "stray").mkdir(), "stray: has no metadata.json"),
    (write_file("metadata.json", "{"), "metadata.json:1: not JSON"),
    (lambda task: (task / "messages.jsonl").unlink(), "messages.jsonl: is missing"),
    (write_file("messages.jsonl", '{"type"\n{"type":"start"}\n'), "messages.jsonl:1: not JSON"),
    (write_log(event("start"), event("dance")), "messages.jsonl:2: the type 'dance'"),
    (write_log(event("tool-output-available", output=1)), "tool-output-available has no 'toolCallId'"),
    (write_log(event("user", content=3)), "messages.jsonl:1: user.content"),
    (write_log(event("user", content="Go.", timestamp="noon")), "'noon' is not an ISO 8601 date-time"),
    (give_grade(score=75), "grader_results.p.score"),
    (give_grade(**{"pass": "yes"}), "grader_results.p.pass: Input should be a valid boolean"),
    (write_metadata(token_usage={"input_tokens": -1}), "token_usage.input_tokens: Input should be greater"),
    (write_file("screenshots/1.png", "<svg>"), "1.png: is not a picture"),
    (write_file("screenshots/01.png", picture()), "has the same number as 01.png"),
    (lambda task: (task / "screenshots/9.png").symlink_to("/etc/hostname"), "9.png: is a link"),
    (lambda task: (task.parent / "more").symlink_to("/etc"), "more: is a link"),
    (lambda task: os.mkfifo(task / "grades.json"), "grades.json: is neither a file nor a folder"),
    (lambda task: browseros(task.parent, name="copy", query_id="Allrecipes--3"), "has the id 'Allrec"),
]


def test_browseros(tmp_path: Path, subtests: pytest.Subtests) -> None:
    """Each is refused with the file's name, and no run folder is left."""
    for number, (spoil, message) in enumerate(BROWSEROS):
        with subtests.test(message=message):
            folder = tmp_path / str(number)
            task = browseros(folder / "theirs")
            spoil(task)
            with pytest.raises(UsageError) as caught:
                write_run(
                    read_run(open_door(), "browseros", task.parent), folder / "ours", "browseros", task.parent
                )
            assert message in str(caught.value)
            assert {path.name for path in folder.iterdir()} == {"theirs"}


def test_others(tmp_path: Path) -> None:
    """Talks without a task and unknown formats are refused."""
    talk = webvoyager_task(tmp_path / "b") / "interact_messages.json"
    write_json(talk, json.loads(talk.read_text())[:1])
    with pytest.raises(UsageError, match=r"interact_messages\.json: its first message gives no task"):
        list(read_run(open_door(), "webvoyager", tmp_path / "b"))
    with pytest.raises(UsageError, match="Did you mean 'browseros'"):
        list(read_run(open_door(), "browser-os", tmp_path / "b"))


@pytest.mark.parametrize("query_id", ["../../../escaped", "/etc/passwd", "..", "a\0b", "x" * 300, "CON"])
def test_hostile_ids_stay_inside(query_id: str, tmp_path: Path) -> None:
    """An id is a name and never a path, whatever it is."""
    task = browseros(tmp_path / "theirs")
    metadata = json.loads((task / "metadata.json").read_text())
    write_json(task / "metadata.json", {**metadata, "query_id": query_id})
    target = tmp_path / "ours"
    store, _ = write_run(read_run(open_door(), "browseros", task.parent), target, "browseros", task.parent)
    (attempt,) = StoredRun(store.root).attempts
    assert attempt.query_id == query_id
    assert attempt.folder.resolve().relative_to(target.resolve()).parts[0] == "tasks"
    assert {path.name for path in tmp_path.iterdir()} == {"theirs", "ours"}


def test_the_target_is_never_written_over(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A folder with files in it, a file, and a place in a file are refused."""
    browseros(tmp_path / "theirs")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine.txt").write_text("mine")
    for target, message in (
        ("full", "has files in it"),
        ("full/mine.txt", "is not a folder"),
        ("full/mine.txt/run", "mine.txt is not a folder"),
    ):
        assert main(["import-run", "browseros", str(tmp_path / "theirs"), "-o", str(tmp_path / target)]) == 4
        assert message in capsys.readouterr().err
    assert (tmp_path / "full" / "mine.txt").read_text() == "mine"


def test_a_folder_beside_others_that_lacks_its_record(tmp_path: Path) -> None:
    """It is named wherever it stands: its attempt would be missing without a word."""
    for place in ("a-1", "a-2"):
        webvoyager_task(tmp_path / "run" / place)
    (tmp_path / "run/a-2/lost/pictures").mkdir(parents=True)
    with pytest.raises(UsageError, match=r"run/a-2/lost: has no interact_messages\.json"):
        list(read_run(open_door(), "webvoyager", tmp_path / "run"))
