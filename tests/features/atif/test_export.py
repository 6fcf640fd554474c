"""Documents of ATIF have verdicts, steps, pictures and figures of a run; protected texts stay at home."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_browsereval import open_run
from pytest_browsereval.__main__ import main
from tests.exported import SECRET_ANSWER, Figures, example_run, mixed_run, read_figures
from tests.features.atif.hostile import hostile_run

__all__ = ["example_run", "hostile_run", "mixed_run"]


def export(run: Path, target: Path, *words: str) -> list[Path]:
    """Write a run, and return its documents."""
    assert main(["export", str(run), "--to=atif", "-o", str(target), *words]) == 0
    return sorted((target / open_run(run).eval / run.name).rglob("*.json"))


def load(documents: list[Path]) -> list[dict[str, Any]]:
    return [json.loads(file.read_bytes()) for file in documents]


def read_totals(documents: list[dict[str, Any]]) -> Figures:
    """Return the figures of a run by its documents alone."""
    totals = [one["final_metrics"] for one in documents]
    return Figures.of(
        [one["extra"]["verdict"] for one in documents if one["extra"]["counts"]],
        cost_usd=round(sum(one["total_cost_usd"] for one in totals), 9),
        input_tokens=sum(one["total_prompt_tokens"] for one in totals),
        output_tokens=sum(one["total_completion_tokens"] for one in totals),
        attempts=len(documents),
    )


def read_steps(document: dict[str, Any]) -> list[tuple[str, Any, str]]:
    """Return tools, arguments and outputs of a document, those of its sub-agents last."""
    found = []
    for step in document["steps"]:
        results = {one["source_call_id"]: one for one in step.get("observation", {}).get("results", ())}
        for call in step.get("tool_calls", ()):
            content = results.get(call["tool_call_id"], {}).get("content", "")
            text = content if isinstance(content, str) else content[0]["text"]
            if call["function_name"] != "delegate":
                found.append((call["function_name"], call["arguments"], text))
    for part in document.get("subagent_trajectories", ()):
        found += read_steps(part)
    return found


def test_documents_have_the_figures_and_steps_of_a_run(mixed_run: Path, tmp_path: Path) -> None:
    """With delegations, errors, second attempts, trials, variants and an id with a slash; each time alike."""
    documents = load(export(mixed_run, tmp_path / "out"))
    assert load(export(mixed_run, tmp_path / "out")) == documents
    assert read_totals(documents) == read_figures(mixed_run)
    attempts = {one.id: one for one in open_run(mixed_run).attempts if not one.is_protected}
    assert any(attempt.steps for attempt in attempts.values())
    for document in documents:
        if (attempt := attempts.get(document["trajectory_id"])) is not None:
            steps = [(step.call.tool, step.call.params, step.output) for step in attempt.steps]
            assert sorted(read_steps(document), key=str) == sorted(steps, key=str)


@pytest.mark.slow
def test_hostile_contents_are_written_whole(hostile_run: Path, tmp_path: Path) -> None:
    """Control characters, half characters, ten million letters, NaN and ids of any form break nothing."""
    attempts = {one.id: one for one in open_run(hostile_run).attempts}
    files = export(hostile_run, tmp_path / "out")
    assert {file.is_relative_to(tmp_path / "out") for file in files} == {True}
    documents = [json.loads(file.read_bytes(), parse_constant=lambda _: 1 / 0) for file in files]
    assert {one["trajectory_id"] for one in documents} == set(attempts)
    for document in documents:
        outputs = [step.output for step in attempts[document["trajectory_id"]].steps]
        assert [text for _, _, text in read_steps(document)] == outputs


def test_verdict_score_and_error_are_three_things(mixed_run: Path, tmp_path: Path) -> None:
    """An errored attempt has no score, a failed one no error; earlier attempts do not count."""
    documents = {one["trajectory_id"]: one["extra"] for one in load(export(mixed_run, tmp_path))}
    wrong, broken, last = (
        documents[f"shop/{mixed_run.name}/{one}"]
        for one in ("wrong/plays/1/1", "shop+2fmug/broken/2/1", "shop+2fmug/broken/2/2")
    )
    assert (wrong["verdict"], wrong["scores"], wrong["error"]) == ("failed", {"answer": 0.0}, None)
    assert (broken["verdict"], broken["scores"], broken["counts"]) == ("errored", {}, False)
    assert broken["error"]["source"] == "agent"
    assert "the agent's own" in broken["error"]["message"]
    assert last["counts"] is True


def test_protected_rows_are_written_without_texts(
    mixed_run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Verdict, score and figures are there; the answer is in no file, and no picture is."""
    documents = export(mixed_run, tmp_path)
    assert "left out: texts and pictures of 8 attempts" in capsys.readouterr().out
    secret = [file for file in documents if file.parent.name == "secret"]
    (document,) = load([file for file in secret if file.stem == "pair-1-1"])
    assert [step["message"] for step in document["steps"]] == ["[withheld]"]
    assert document["extra"]["verdict"] == "passed"
    assert document["extra"]["scores"] == {"answer": 1.0}
    assert document["final_metrics"]["total_prompt_tokens"] > 0
    assert not [file for file in secret[0].parent.rglob("*") if file.is_file() and file.suffix != ".json"]
    assert SECRET_ANSWER.split()[-1] not in "".join(file.read_text() for file in documents)


def test_pictures_are_a_choice(mixed_run: Path, tmp_path: Path) -> None:
    """With them the folder can be carried away; without, no file beside the documents is left."""
    export(mixed_run, tmp_path)
    there = [one for one in open_run(mixed_run).attempts if not one.is_protected]
    assert len(list(tmp_path.rglob("*.jpeg"))) == sum(len(one.pictures) for one in there) > 0
    documents = export(mixed_run, tmp_path, "--eval-set=export.pictures=false")
    assert not list(tmp_path.rglob("*.jpeg"))
    assert '"image"' not in "".join(file.read_text() for file in documents)


def test_a_run_is_not_exported_into_itself(mixed_run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Its files would stand among those of the run."""
    assert main(["export", str(mixed_run), "--to=atif", "-o", str(mixed_run.parent.parent)]) == 4
    assert "has the run itself" in capsys.readouterr().err
