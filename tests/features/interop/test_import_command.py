from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import pytest

from pytest_browsereval.__main__ import main
from pytest_browsereval.benchmarks.webvoyager.dataset import WebVoyagerConfig
from pytest_browsereval.datasets.jsonl import JsonLinesConfig

ROWS = [
    {"web_name": "Maps", "id": f"Maps--{n}", "ques": f"Find café {n}.", "web": "https://maps.example.org/"}
    for n in range(3)
]


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("voyage.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    answers = {"Maps": {"answers": [{"id": 1, "type": "possible", "ans": "Café Uno"}]}}
    Path("answers.json").write_text(json.dumps(answers))


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(["import", *arguments]) == 4
    out, err = capsys.readouterr()
    assert out == ""
    return err


def test_rows_are_written_as_they_are_read(capsys: pytest.CaptureFixture[str]) -> None:
    """What is written is read as the very tasks of the benchmark; number, hash and notes are told."""
    chosen = ["--eval-set", "dataset.reference=answers.json", "--eval-set", "dataset.graders=[answer]"]
    assert main(["import", "webvoyager", "voyage.jsonl", "-o", "rows.jsonl", *chosen]) == 0
    out = capsys.readouterr().out.splitlines()
    digest = hashlib.sha256(Path("rows.jsonl").read_bytes()).hexdigest()
    assert out[0] == f"3 rows, sha256 {digest}"
    assert out[1] == "WebVoyager: 2 rows have no reference answer: Maps--0, Maps--2"
    written = JsonLinesConfig(path=Path("rows.jsonl"))
    published = WebVoyagerConfig.model_validate(
        {"path": "voyage.jsonl", "reference": "answers.json", "graders": ["answer"]}
    )
    read: list[Any] = [[one.read(ref) for ref in one.index(Path())] for one in (written, published)]
    assert read[0] == read[1]
    assert "café" in Path("rows.jsonl").read_text()


def test_protected_rows_are_not_written(capsys: pytest.CaptureFixture[str]) -> None:
    """Answers that must not stand in clear do not reach a file."""
    row = {"query_id": "secret", "query": "q", "answer": "42", "protected": True}
    Path("own.jsonl").write_text(json.dumps(row) + "\n")
    told = refused(capsys, "jsonl", "own.jsonl", "-o", "rows.jsonl")
    assert "1 row is protected (secret)" in told
    assert "dataset: [{type: jsonl, path: own.jsonl}]" in told
    assert not Path("rows.jsonl").exists()


def test_rows_that_are_left_out_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    """Each row that the benchmark itself calls infeasible is named with the reason."""
    task = {"goal": "Buy it.", "website": {"id": "omnizon", "url": "https://omnizon.test"}}
    checks = [{"type": "jmespath", "query": "a", "expected_value": 1}]
    Path("tasks").mkdir()
    for name, possible in (("omnizon-1", True), ("omnizon-2", False)):
        text = json.dumps({**task, "id": name, "evals": checks, "possible": possible})
        Path(f"tasks/{name}.json").write_text(text)
    assert main(["import", "agisdk", "tasks", "-o", "rows.jsonl"]) == 0
    told = capsys.readouterr().out.splitlines()
    assert told[0].startswith("1 row, sha256 ")
    assert told[-1] == "left out: omnizon-2: the benchmark says that they are infeasible"
    assert "agisdk-omnizon-1" in Path("rows.jsonl").read_text()


def test_wrong_usage(capsys: pytest.CaptureFixture[str], subtests: pytest.Subtests) -> None:
    """What is wrong is told before anything is written."""
    cases: list[tuple[list[str], str]] = [
        (["webvoyagr", "voyage.jsonl"], "Did you mean 'webvoyager'?"),
        (["webvoyager", "none.jsonl"], "none.jsonl: no such file"),
        (["webvoyager", "answers.json"], "answers.json:1: expected a list of rows."),
        (["webvoyager", "voyage.jsonl", "--eval-set", "dataset.referenc=x"], "unknown key. Did you mean"),
        (["webvoyager", "voyage.jsonl", "--eval-set", "dataset.reference"], "write `KEY.PATH=VALUE`"),
        (
            ["webvoyager"],
            "import: PATH is missing: write `browsereval import webvoyager PATH -o rows.jsonl`.",
        ),
        (["jsonl", "own.jsonl"], "own.jsonl:2: "),
    ]
    Path("own.jsonl").write_text('{"query_id": "a", "query": "q"}\n{"query_id": "b", "query": ""}\n')
    for arguments, told in cases:
        with subtests.test(arguments=arguments, told=told):
            assert told in refused(capsys, *arguments, "-o", "rows.jsonl")
            assert not Path("rows.jsonl").exists()


def test_what_is_there_is_never_replaced(capsys: pytest.CaptureFixture[str]) -> None:
    """Neither a file of the user's, nor the source, nor a device or a folder."""
    os.mkfifo("pipe")
    Path("folder").mkdir()
    Path("mine.jsonl").write_text("mine")
    before = Path("voyage.jsonl").read_bytes()
    for name in ("mine.jsonl", "voyage.jsonl", "pipe", "folder"):
        told = refused(capsys, "webvoyager", "voyage.jsonl", "-o", name)
        assert f"{name} already exists. Name another file, or remove it." in told
    assert (Path("mine.jsonl").read_text(), Path("voyage.jsonl").read_bytes()) == ("mine", before)
    told = refused(capsys, "webvoyager", "voyage.jsonl", "-o", "none/rows.jsonl")
    assert "none/rows.jsonl cannot be written" in told
