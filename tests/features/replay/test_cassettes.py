"""The files of recorded model calls: whole, small, and refused when they are not as recorded."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_browsereval.config import load_config
from pytest_browsereval.door import builtin_registry
from pytest_browsereval.errors import ErrorSource, Fault, TerminationReason
from pytest_browsereval.features.replay.calls import CallRecorder, RecordedCall
from pytest_browsereval.features.replay.cassette_file import CassetteError, read_cassette
from pytest_browsereval.features.replay.cassettes import FileCassettes, ModelCalls
from pytest_browsereval.features.replay.restoring import RestoringRedactor
from pytest_browsereval.model.trials import TrialKey
from pytest_browsereval.run.cassettes import name_cassette
from tests.recorded import ERRORED, FAILED, attempt

KEY = TrialKey("mugs/Red", "fast", 2)
NAME = name_cassette(KEY)


def made(folder: Path, mode: ModelCalls, **keys: Any) -> FileCassettes:
    path = folder / "shop.json"
    (folder / "rows.jsonl").touch()
    path.write_text(json.dumps({"agent": "noop", "dataset": "rows.jsonl", **keys}))
    return FileCassettes(load_config(path, registry=builtin_registry()), mode, RestoringRedactor({}, str))


def call(role: str, number: int, *said: str, **more: Any) -> RecordedCall:
    messages = [{"role": "user", "content": text} for text in said]
    request = {"model": "m", "messages": messages, "tools": ["click"], **more}
    return RecordedCall(role, number, request, {"choices": [{"n": number}]}, None, 12.5)


CALLS = [
    call("agent", 1, "a"),
    call("judge", 1, "a", "j"),
    call("agent", 2, "a", "b", seed=1),
    call("agent", 3, "b"),  # what was too long was left out
    RecordedCall("agent", 4, {"model": "m", "messages": []}, fault={"message": "no", "status": 400}),
    RecordedCall("agent", 5, {"messages": []}, duration_ms=3.5, given_up_ms=20.25),
    RecordedCall("agent", 6, {"messages": []}),
]


def kept(folder: Path, calls: list[RecordedCall] = CALLS) -> Path:
    cassettes = made(folder, ModelCalls.RECORD)
    recorder = CallRecorder(lambda value: value)
    recorder.calls += calls
    cassettes.save(NAME, attempt("a", FAILED, termination_reason=TerminationReason.TIMEOUT), recorder)
    return cassettes.path(NAME)


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    """All calls of all roles, and how the attempt ended."""
    path = kept(tmp_path)
    cassette = read_cassette(path)
    assert list(cassette.calls) == CALLS
    assert cassette.ended is TerminationReason.TIMEOUT
    names = ["cassettes", "shop", "fast"]
    assert [part.name for part in reversed(list(path.parents)[:3])] == names
    assert path.name.endswith("-2.jsonl")
    assert "/" not in path.name


def test_a_file_holds_a_long_conversation_once(tmp_path: Path) -> None:
    """Each request repeats all that was said before: kept as it is, a file would grow with its square."""
    said = [f"message {number}: " + "x" * 1_000 for number in range(100)]
    path = kept(tmp_path, [call("agent", n, *said[:n]) for n in range(1, 101)])
    assert path.stat().st_size < 200_000
    assert len(read_cassette(path).calls[-1].request["messages"]) == 100


def test_a_row_and_its_capitals_have_files_of_their_own(tmp_path: Path) -> None:
    """Also where the disk does not tell capitals apart, and whatever an id holds."""
    cassettes = made(tmp_path, ModelCalls.RECORD)
    ids = ["a", "A", "../a", "a-1", "a/b"]
    keys = [TrialKey(name, trial=trial) for name in ids for trial in (1, 11)]
    paths = {str(cassettes.path(name_cassette(key))).lower() for key in keys}
    assert len(paths) == 10
    assert all(Path(path).resolve().parent == Path(path).parent for path in paths)


def test_an_errored_attempt_leaves_no_cassette(tmp_path: Path) -> None:
    """It would be replayed as the same fault for ever; one that is there stays."""
    path = kept(tmp_path)
    before = path.read_bytes()
    cassettes = made(tmp_path, ModelCalls.RECORD)
    cassettes.save(NAME, attempt("a", ERRORED), CallRecorder(lambda value: value))
    assert path.read_bytes() == before


def test_a_damaged_cassette_is_refused(tmp_path: Path, subtests: pytest.Subtests) -> None:
    """With file and line: one that was cut off, edited by hand, or written by a newer version."""
    cases: list[tuple[Callable[[str], str], str]] = [
        (lambda text: text[: len(text) // 2], r"\.jsonl:\d+: the cassette was cut off\. Record it again"),
        (lambda text: text.replace('"n": 2', '"n": 3'), r"\.jsonl:4: the cassette was edited: .* Restore"),
        (lambda text: re.sub(r"(?s)^(.*?\n.*?\n).*?\n", r"\1", text), r"\.jsonl:3: the cassette was edited"),
        (lambda text: "not JSON\n" + text, r"\.jsonl:1: this is not a line of a cassette"),
        (
            lambda text: text.replace('"cassette": 1', '"cassette": 2'),
            r"\.jsonl:1: .* has format 2, .* Upgrade",
        ),
    ]
    for damage, told in cases:
        with subtests.test(damage=damage, told=told):
            path = kept(tmp_path)
            path.write_text(damage(path.read_text()))
            with pytest.raises(CassetteError, match=told):
                read_cassette(path)
            cassettes = made(tmp_path, ModelCalls.REPLAY)
            with pytest.raises(CassetteError, match=told):
                cassettes.check([NAME])
            with pytest.raises(Fault, match=told) as caught, cassettes.intercept_calls(NAME):
                pass
            assert caught.value.source is ErrorSource.REPLAY


def test_what_is_missing_is_told_before_anything_runs(tmp_path: Path) -> None:
    """The first five, and how many more."""
    kept(tmp_path)
    cassettes = made(tmp_path, ModelCalls.REPLAY)
    cassettes.check([NAME])
    with pytest.raises(CassetteError) as caught:
        cassettes.check([NAME, *(name_cassette(TrialKey(f"r{number}")) for number in range(7))])
    lines = str(caught.value).splitlines()
    assert len(lines) == 6
    assert "r0-1.jsonl: there is no such cassette. Record it again with `--eval-llm=record`" in lines[0]
    assert lines[-1] == "... and 2 more"


def test_a_folder_that_cannot_be_written_is_told_before_anything_is_spent(tmp_path: Path) -> None:
    """A file stands in its way; root may write into any folder, so that is all that can be shown here."""
    (tmp_path / "kept").touch()
    cassettes = made(tmp_path, ModelCalls.RECORD, cassettes="kept")
    with pytest.raises(CassetteError, match="no cassette can be written there; "):
        cassettes.check([NAME])
    made(tmp_path, ModelCalls.REPLAY, cassettes="kept").check([])


def test_calls_that_nobody_made_are_told(tmp_path: Path) -> None:
    """Not those that were never answered."""
    path = kept(tmp_path, [*CALLS[:2], CALLS[-1]])
    assert path.exists()
    with made(tmp_path, ModelCalls.REPLAY).intercept_calls(NAME) as replayer:
        assert replayer is not None
        assert replayer.warning() == "2 recorded model calls were not made; the first is call 1 of the agent"
    assert CallRecorder(lambda value: value).warning() is None


def test_replies_to_pages_are_kept_when_they_are_asked_for(tmp_path: Path) -> None:
    """By the config alone, or with the calls of models; a run that only replays pages keeps none."""
    for har, mode, keeps in (
        ("record", ModelCalls.LIVE, True),
        ("auto", ModelCalls.LIVE, False),
        ("auto", ModelCalls.RECORD, True),
        ("replay", ModelCalls.RECORD, False),
    ):
        assert made(tmp_path, mode, capture={"har": har}).records_pages(NAME) is keeps
