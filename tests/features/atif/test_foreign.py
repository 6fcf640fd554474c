"""Documents of other systems become attempts of ours; what has no place in a log is said."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from pytest_browsereval import StoredAttempt, open_run
from pytest_browsereval.__main__ import main
from pytest_browsereval.model.messages import UserMessage
from tests.features.atif.documents import hostile_run, trajectory
from tests.features.atif.test_round_trip import export
from tests.features.interop.foreign import picture, write_json
from tests.returned import plain

__all__ = ["hostile_run"]


def read(source: Path, target: Path) -> tuple[StoredAttempt, ...]:
    """Import documents, and return the attempts."""
    assert main(["import-run", "atif", str(source), "-o", str(target)]) == 0
    return open_run(target).attempts


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """Return the folder of a run of another system, as Harbor writes one: other JSON files beside it."""
    folder = tmp_path / "job"
    write_json(folder / "task-1/agent/trajectory.json", trajectory())
    write_json(folder / "task-1/result.json", {"rewards": {"reward": 1}})
    (folder / "task-1/agent/images").mkdir()
    (folder / "task-1/agent/images/1.png").write_bytes(picture())
    return folder


def test_a_document_of_another_system(
    source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its steps, pictures, tokens and money are there; it waits for a grade; losses are printed."""
    (attempt,) = read(source, tmp_path / "run")
    record = attempt.metadata
    assert (record.query_id, record.query) == ("task-1/agent/trajectory", "Buy a mug.")
    assert (record.final_answer, record.cost_usd, record.usage.input_tokens) == ("Bought.", 0.5, 10)
    assert record.agent_config == {"type": "theirs", "version": "3", "model": "m", "system": ["You browse."]}
    assert (str(attempt.verdict), str(attempt.error_source)) == ("errored", "grader")
    first, second = attempt.steps
    assert (first.call.tool, first.call.params, first.output) == ("click", {"x": 1}, "ok")
    assert first.picture is not None
    assert first.picture.read_bytes() == picture()
    assert (second.call.tool, second.output) == ("type", "again")  # not the first one's result
    assert [one.content for one in attempt.messages if isinstance(one, UserMessage)] == [
        "Buy a mug.",
        "typed",
    ]
    told = capsys.readouterr().out
    assert "1 of them have no grade yet" in told
    for what in ("texts of reasoning", "times that are not ISO 8601", "sounds and other parts of results"):
        assert f"note: task-1/agent/trajectory: {what}" in told, told


def test_a_result_without_a_call_belongs_to_all_of_them(source: Path, tmp_path: Path) -> None:
    """As terminal agents write it: one result for all that a turn did."""
    document = trajectory()
    document["steps"][3]["observation"]["results"].pop()
    write_json(source / "task-1/agent/trajectory.json", document)
    (attempt,) = read(source, tmp_path / "run")
    assert [step.output for step in attempt.steps] == ["ok", "typed"]


def test_sub_agents_become_delegations(source: Path, tmp_path: Path) -> None:
    """Embedded ones; a file of its own is left out as a part and not taken for an attempt."""
    document = trajectory(trajectory_id="whole")
    inner = trajectory(trajectory_id="inner")
    call = {"tool_call_id": "h", "function_name": "handoff", "arguments": {"instruction": "Look."}}
    refs = [{"trajectory_id": "inner"}, {"trajectory_path": "second.json"}]
    result = {"source_call_id": "h", "content": "Seen.", "subagent_trajectory_ref": refs}
    document["steps"].append(
        {
            "step_id": 5,
            "source": "agent",
            "message": "",
            "tool_calls": [call],
            "observation": {"results": [result]},
        }
    )
    document["subagent_trajectories"] = [inner]
    write_json(source / "task-1/agent/trajectory.json", document)
    write_json(source / "task-1/agent/second.json", trajectory(trajectory_id="second"))
    (attempt,) = read(source, tmp_path / "run")
    assert attempt.query_id == "whole"
    (delegation,) = (
        act for turn in attempt.turns for act in getattr(turn, "acts", ()) if hasattr(act, "goal")
    )
    assert (delegation.goal.instruction, delegation.report.summary) == ("Look.", "Seen.")
    assert [step.output for step in attempt.steps] == ["ok", "again", "ok", "again"]
    assert {one.message.partition(":")[0] for one in attempt.metadata.warnings} >= {
        "sub-agents in other files, or missing, are left out"
    }


WRONG: dict[str, tuple[Any, str]] = {
    "a newer version": (
        trajectory(schema_version="ATIF-v1.9"),
        "is 'ATIF-v1.9'. ATIF-v1.0 to ATIF-v1.8 are read",
    ),
    "another form": ({"messages": []}, "has no schema_version"),
    "no agent": ({"schema_version": "ATIF-v1.7", "steps": []}, "agent: Field required"),
    "a number for a text": (trajectory(trajectory_id=3), "trajectory_id: Input should be a valid string"),
    "less than no money": (trajectory(final_metrics={"total_cost_usd": -1}), "final_metrics.total_cost_usd"),
    "NaN": ('{"schema_version": "ATIF-v1.7", "x": NaN}', "NaN is not a number in JSON"),
    "half a character": ('{"schema_version": "\\ud83d"}', "is half a character"),
    "nested without end": ("[" * 100_000, "nested too deeply"),
    "no record of ours": (trajectory(extra={"browsereval": 3}), "extra.browsereval: is not a block"),
    "a wrong record": (
        trajectory(extra={"browsereval": {"query_id": "a"}}),
        "extra.browsereval: dataset: Field",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_cannot_be_read_is_refused(
    case: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """In one sentence with the file, and nothing is written."""
    value, told = WRONG[case]
    (tmp_path / "t.json").write_text(value if isinstance(value, str) else json.dumps(value))
    assert main(["import-run", "atif", str(tmp_path / "t.json"), "-o", str(tmp_path / "run")]) == 4
    error = capsys.readouterr().err
    assert "t.json" in error
    assert told in error
    assert not (tmp_path / "run").exists()


def test_records_of_ours_are_checked(mixed: dict[str, Any], tmp_path: Path) -> None:
    """A number, a name or a verdict that no run of ours has is not taken over."""
    for key, value in (
        ("trial", 0),
        ("attempt", -1),
        ("variant", "../x"),
        ("variant", ""),
        ("verdict", "errored"),
        ("error_source", "site"),
        ("query_id", ""),
        ("cost_usd", -1),
        ("unknown", 1),
    ):
        record = {**mixed, key: value}
        (tmp_path / "t.json").write_text(json.dumps(trajectory(extra={"browsereval": record})))
        assert main(["import-run", "atif", str(tmp_path / "t.json"), "-o", str(tmp_path / "run")]) == 4, key


@pytest.fixture
def mixed(hostile_run: Path, tmp_path: Path) -> dict[str, Any]:
    """Return a record as it is written."""
    (first, *_) = export(hostile_run, tmp_path / "out")
    record: dict[str, Any] = json.loads(first.read_bytes())["extra"]["browsereval"]
    return record


@pytest.mark.parametrize(
    "place", ["/etc/hostname", "../../secret.png", "https://x.test/a.png", "a\x00b", "x" * 5000]
)
def test_a_picture_is_taken_from_the_folder_only(place: str, tmp_path: Path) -> None:
    """A path of a document is hostile: nothing outside of its folder is read."""
    (tmp_path / "secret.png").write_bytes(picture())
    folder = tmp_path / "a/b"
    document = trajectory(extra={"pictures": {"1": place, "0": place, "x": place}})
    document["steps"][2]["observation"]["results"][0]["content"][1]["source"]["path"] = place
    write_json(folder / "t.json", document)
    (attempt,) = read(folder, tmp_path / "run")
    assert attempt.pictures == {}
    assert any("not in the folder" in one.message for one in attempt.metadata.warnings)


def test_a_file_that_is_not_a_picture_is_left_out(source: Path, tmp_path: Path) -> None:
    """Whatever its name says."""
    (source / "task-1/agent/images/1.png").write_text("<svg onload=alert(1)>")
    (attempt,) = read(source, tmp_path / "run")
    assert attempt.pictures == {}


@pytest.mark.slow
def test_hostile_contents_come_back(hostile_run: Path, tmp_path: Path) -> None:
    """Control characters, half characters, ten million letters, NaN and ids of any form break nothing."""
    documents = export(hostile_run, tmp_path / "out")
    assert len(documents) == len(open_run(hostile_run).attempts)
    for file in documents:
        file.read_bytes().decode()
        assert "NaN" not in json.dumps(
            json.loads(file.read_text(), parse_constant=lambda _: 1 / 0)["steps"][:1]
        )
    there = {one.query_id: one for one in open_run(hostile_run).attempts}
    again = {one.query_id: one for one in read(tmp_path / "out", tmp_path / "back")}
    assert set(again) == set(there)
    for query_id, one in again.items():
        assert len(plain(one.turns)) == len(plain(there[query_id].turns))
        assert one.verdict is there[query_id].verdict
        assert one.metadata.final_answer == there[query_id].metadata.final_answer
        assert [step.output for step in one.steps] == [step.output for step in there[query_id].steps]
    assert {path.name for path in tmp_path.iterdir()} == {"out", "back"}


def test_a_damaged_log_is_not_exported_without_a_word(
    hostile_run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What follows a damaged line is lost, and the command ends with 1."""
    run = tmp_path / "run"
    shutil.copytree(hostile_run, run)
    (log, *_) = run.rglob("messages.jsonl")
    log.write_bytes(b"{}\n" + log.read_bytes())
    assert main(["export", str(run), "--to=atif", "-o", str(tmp_path / "out")]) == 1
    assert "messages.jsonl:1 is damaged" in capsys.readouterr().err
