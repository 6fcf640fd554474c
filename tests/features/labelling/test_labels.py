"""What people say: read from files, matched to attempts, counted."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from pytest_browsereval.__main__ import main
from pytest_browsereval.errors import UsageError
from pytest_browsereval.features.labelling.labels import Label, match, read_labels, settle_labels
from pytest_browsereval.runs.run import StoredRun
from tests.labelled import grade, graded, write_labels, write_run
from tests.recorded import ERRORED, FAILED


def test_a_line_that_is_no_label_is_refused(tmp_path: Path) -> None:
    """File, line and what is wrong are told; of a file that is not there, the nearest name."""
    file = tmp_path / "labels.jsonl"
    for text, told in (
        ('{"query_id": "a"}', "label: "),
        ('{"query_id": "a", "label": "passed"}', "'passed'"),
        ('{"query_id": "a", "label": "pass", "labeler": "x"}', "labeller"),
        ('{"label": "pass"}', "query_id: "),
        ('{"query_id": "a", "label": "pa', "not JSON"),
        ("[]", ""),
    ):
        file.write_text(f'{{"query_id": "a", "label": "pass"}}\n{text}\n')
        with pytest.raises(UsageError, match=rf"labels\.jsonl:2: .*{told}"):
            read_labels(file)
    with pytest.raises(UsageError, match=r"labels\.json: no such file\. Did you mean 'labels\.jsonl'"):
        read_labels(tmp_path / "labels.json")


def test_a_named_pipe_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In the folder of the run, or as the file that is named: nobody waits for what never comes."""
    write_run(tmp_path / "run", graded("a"))
    for name in ("labels.jsonl", "others.jsonl"):
        os.mkfifo(tmp_path / "run" / name)
    for more in ([], ["--labels", str(tmp_path / "run/others.jsonl")]):
        assert main(["calibrate", str(tmp_path / "run"), *more]) != 0
        assert "it is a named pipe" in capsys.readouterr().err


def test_labels_find_their_attempts(tmp_path: Path) -> None:
    """By id the last attempt of the trial is meant; variant, trial, attempt and run say it closer."""
    run = write_run(
        tmp_path / "first",
        graded("a", grade("j", ERRORED)),
        graded("a", grade("j"), attempt=2),
        graded("b", grade("j"), variant="x"),
        graded("b", grade("j", FAILED), variant="y"),
        graded("b", grade("j", FAILED), variant="y", trial=2),
    )
    attempts = StoredRun(run.root).attempts

    def found(**label: Any) -> list[str]:
        file = write_labels(tmp_path / "labels.jsonl", {"label": "pass", **label})
        by_attempt, homeless = match(read_labels(file), attempts)
        assert len(homeless) + len(by_attempt) == 1
        return [path.relative_to(run.root / "tasks").as_posix() for path in by_attempt]

    assert found(query_id="a") == ["a/default/1/attempt-2"]
    assert found(query_id="a", attempt=1) == ["a/default/1/attempt-1"]
    assert found(query_id="a", run="first") == ["a/default/1/attempt-2"]
    assert found(query_id="a", run="second") == []
    assert found(query_id="b", variant="x") == ["b/x/1/attempt-1"]
    assert found(query_id="b", variant="y", trial=3) == []
    with pytest.raises(
        UsageError, match=r"labels.jsonl:1: the label .* fits 3 attempts. Write run or variant or trial"
    ):
        found(query_id="b")


def test_the_majority_counts(subtests: pytest.Subtests) -> None:
    """Of those who say pass or fail the majority counts; without one it is a tie, or unclear."""
    cases: list[tuple[list[Any], str | None]] = [
        (["pass"], "pass"),
        (["pass", "fail"], "tie"),
        (["pass", "fail", "fail"], "fail"),
        (["pass", "unclear", "unclear"], "pass"),
        (["unclear", None], "unclear"),
        ([None], None),
    ]
    for words, together in cases:
        with subtests.test(words=words, together=together):
            labels = {str(n): Label(query_id="a", label=word) for n, word in enumerate(words)}
            assert settle_labels(labels) == together
