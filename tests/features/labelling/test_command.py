"""``label`` and ``calibrate`` as they are typed."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from pytest_browsereval.__main__ import main
from tests.labelled import folder_of, grade, graded, says, write_labels, write_run
from tests.recorded import FAILED, PASSED

COMMAND = """
import signal, sys
from pytest_browsereval.__main__ import main
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.exit(main(sys.argv[1:]))
"""
"""A job in the background of a script inherits signals that are ignored."""


pytestmark = pytest.mark.usefixtures("in_tmp_path")


@pytest.fixture
def run_folder(tmp_path: Path) -> Path:
    """Return a run whose judge is wrong about one of four attempts: kappa 0.5, FPR 50 %."""
    attempts = [graded(name, grade("judge", FAILED if name == "d" else PASSED)) for name in "abcd"]
    write_run(tmp_path / "run", *attempts)
    words = {"a": "pass", "b": "pass", "c": "fail", "d": "fail"}
    labels = (says(name, word, run="run") for name, word in words.items())
    write_labels(tmp_path / "run/labels.jsonl", *labels)
    return tmp_path / "run"


@pytest.mark.parametrize(
    ("bar", "code"),
    [
        (("--min-kappa", "0.5"), 0),
        (("--min-kappa", "0.6"), 1),
        (("--min-kappa", "0.5", "--strict"), 1),
        (("--min-kappa", "0.5", "--max-fpr", "0.4", "--grader", "judge"), 1),
    ],
)
def test_the_bar_is_the_exit_code(
    run_folder: Path, bar: tuple[str, ...], code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """A grader below the bar is exit code 1, with the reason and what to write in the config."""
    assert main(["calibrate", str(run_folder), *bar]) == code
    out = capsys.readouterr().out
    assert "compared 4 of 4 labelled attempts" in out
    assert ("NOT MET: judge: " in out, "`advisory: true`" in out) == (code == 1, code == 1)


def test_reports_are_written(run_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """All figures as JSON, the report as Markdown; also of labels that are in a file of their own."""
    labels = (run_folder / "labels.jsonl").rename(tmp_path / "gold.jsonl")
    files = ["--json", "all.json", "--markdown", "report.md", "--labels", str(labels)]
    assert main(["calibrate", str(run_folder), *files, "--max-fpr", "0.1"]) == 1
    told = json.loads(Path("all.json").read_text())
    (judge,) = told["graders"]
    counts = {"true_positive": 2, "false_positive": 1, "true_negative": 1, "false_negative": 0}
    assert judge["confusion"] == counts
    assert judge["kappa"]["value"] == pytest.approx(0.5)
    assert [rule["met"] for rule in told["rules"]] == [False]
    assert "| grade passed | 2 | 1 |" in Path("report.md").read_text()
    assert main(["calibrate", str(run_folder), "--labels", "gold.jsonl", "--json", "no/such/all.json"]) == 4
    assert "all.json cannot be written" in capsys.readouterr().err


def test_wrong_usage(run_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What is wrong is told with what to type, exit code 4."""
    write_run(tmp_path / "other", graded("a", grade("judge")))
    write_run(tmp_path / "broken", graded("a"))
    damaged = write_run(tmp_path / "damaged", graded("a", grade("judge")))
    (folder_of(damaged, "a") / "messages.jsonl").write_text('{"type": "user\n{"type": "user"\n')
    (tmp_path / "cut.jsonl").write_text('{"query_id": "a", "la\n')
    cases = {
        ("calibrate", "nowhere"): "there is no run 'nowhere'",
        ("calibrate", "run", "run"): "is named twice",
        ("calibrate", "other"): "Run `browsereval label other`",
        ("calibrate", "run", "--grader", "juge"): "Did you mean 'judge'?",
        ("calibrate", "run", "--labels", "label.jsonl"): "no such file",
        ("label", "broken"): "has no graded attempt",
        ("label", "damaged"): "messages.jsonl:1 is damaged: it is not a message. Restore it.",
        ("label", "run", "--labels", "cut.jsonl"): "cut.jsonl:1: not JSON",
        ("label", "run", "--labels", "run/tasks"): "is a folder, not a file",
        ("label", "run", "--labels", "no/labels.jsonl"): "the folder 'no' does not exist. Make it first.",
    }
    for arguments, told in cases.items():
        assert main(list(arguments)) == 4, arguments
        assert told in capsys.readouterr().err
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        assert main(["label", "run", "--no-open", "--port", port]) == 4
    told = f"--port={port}: the port cannot be used: Address already in use. Name another"
    assert told in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["calibrate", "run", "--min-kappa", "60"])
    assert "60 is not between 0 and 1" in capsys.readouterr().err


@pytest.mark.slow
def test_label_serves_until_it_is_interrupted(run_folder: Path) -> None:
    """The address is printed; Ctrl-C ends the server with what was done, exit code 0."""
    arguments = ["label", str(run_folder), "--no-open", "--labeller", "anna"]
    with subprocess.Popen(
        [sys.executable, "-c", COMMAND, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "4 attempts to label, 0 labelled by anna\n"
        url = process.stdout.readline().strip()
        with urllib.request.urlopen(url) as page:  # noqa: S310 our own address
            assert b"<title>Label attempts</title>" in page.read()
        assert process.stdout.readline() == "Ctrl-C ends it\n"
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=120)
    assert (process.returncode, err) == (0, "")
    assert "0 of 4 labelled, in " in out
