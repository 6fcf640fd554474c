"""The index of a run: whatever stands in it, commands and sessions say what the records say."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_browsereval.model.digest import digest
from pytest_browsereval.run.index import IndexFile
from pytest_browsereval.run.reading import read_metadata
from pytest_browsereval.run.records import Stamp, read_record
from tests.hooks.small_evals import Evals, row

ATTEMPT = "tasks/{}/default/1/attempt-1"


def append_lie(run: Path, stamp: Stamp | None = None) -> None:
    """Add a line by which the row that failed has passed."""
    folder = run / ATTEMPT.format("wrong")  # in a file whose name is behind those of workers: it counts
    data = read_metadata(folder).model_copy(update={"verdict": "passed", "reason": ""})
    IndexFile(run, "z").append(folder, stamp or read_record(str(folder))[1], digest(data))


def cut(run: Path) -> None:
    for file in (run / "index").iterdir():
        file.write_bytes(file.read_bytes()[:-100])


def edit(run: Path) -> None:
    for file in (run / "index").iterdir():
        file.write_bytes(file.read_bytes().replace(b'"failed"', b'"passed"'))


def change(run: Path) -> None:
    record = run / ATTEMPT.format("right") / "metadata.json"
    record.write_text(record.read_text().replace('"passed"', '"failed"'))


def copy(run: Path) -> None:
    for file in (run.with_name("other") / "index").iterdir():
        shutil.copy(file, run / "index")


STATES: dict[str, Callable[[Path], object]] = {
    "right": lambda _: None,
    "cut": cut,
    "edited": edit,
    "lying": lambda run: append_lie(run, (1, 2, 10**20, 4)),
    "stale": change,
    "of another run": copy,
    "of a record that is gone": lambda run: (run / ATTEMPT.format("wrong") / "metadata.json").unlink(),
    "of a damaged record": lambda run: (run / ATTEMPT.format("wrong") / "metadata.json").write_text("{"),
}


def say(evals: Evals, run: Path) -> list[Any]:
    """Return what commands and a resumed session say of a run, without times."""
    other = run.with_name("other")
    said: list[Any] = []
    for words in (
        ["gate", str(run), "--eval-set", "gate.min_pass_rate=0.9"],
        ["show", str(run)],
        ["compare", str(run), str(other)],
        ["merge", str(run), str(other), "-o", "whole"],
        ["view", str(run)],
    ):
        done = evals.run_command(*words)
        said += [int(done.ret), done.stdout.str(), done.stderr.str()]
    shutil.rmtree(evals.path / "whole", ignore_errors=True)
    resumed = evals.run("shop.eval.yaml", f"--eval-resume={run}")
    lines = [line for line in resumed.outlines if "index" not in line]
    said += [int(resumed.ret), re.sub(r"[\d.]+ ?m?s\b", "", "\n".join(lines))]
    return said


@pytest.mark.slow
@pytest.mark.parametrize("state", STATES)
def test_all_say_the_same_with_and_without_an_index(evals: Evals, state: str) -> None:
    """A gate, a comparison, a merge, the page and a resumed session: words and exit codes."""
    evals.write_rows(row("right"), row("wrong", says="x"), row("also"))
    evals.write_config(gate={"min_pass_rate": 0.9})
    shutil.move(evals.run("shop.eval.yaml", "-k", "also").folder, evals.path / "results/shop/other")
    run = evals.run("shop.eval.yaml", "-k", "not also").folder
    saved = evals.path / "saved"
    shutil.copytree(run, saved)
    STATES[state](run)
    with_index = say(evals, run)
    assert state != "right" or with_index[9] == 0, "the two runs are to be merged"
    shutil.rmtree(run)
    shutil.move(saved, run)
    STATES[state](run)
    shutil.rmtree(run / "index")
    assert say(evals, run) == with_index


AGENT = """
import time
from pathlib import Path
from tests.hooks.test_indexes import append_lie

def act(context):
    if context.task.query_id == "last":
        (run,) = Path("results/shop").iterdir()
        while not (run / "tasks/wrong/default/1/attempt-1/metadata.json").exists():
            time.sleep(0.02)
        append_lie(run)
    return "x" if context.task.query_id == "wrong" else "right"
"""


@pytest.mark.parametrize("workers", [[], pytest.param(["-n2"], marks=pytest.mark.slow)], ids=["one", "two"])
def test_an_agent_that_forges_a_line_changes_no_verdict(evals: Evals, workers: list[str]) -> None:
    """Its session believes the records, and leaves an index without that line."""
    (evals.path / "agents.py").write_text(AGENT)
    evals.write_rows(row("wrong"), row("right"), row("last"))
    agent = {"type": "function", "function": "agents:act"}
    evals.write_config(agent=agent, gate={"min_pass_rate": 0.9}, limits={"timeout_ms": 60_000})
    run = evals.run("shop.eval.yaml", *workers)
    assert run.ret == pytest.ExitCode.TESTS_FAILED, run.stdout.str()
    said = {one["query_id"]: one["verdict"] for one in run.summary["results"]}
    assert said["wrong"] == "failed", run.stdout.str()
    assert evals.run_command("gate", str(run.folder)).ret == 1


def test_regrading_and_a_second_session_write_the_index(evals: Evals) -> None:
    """It stays one file with a line for each attempt."""
    evals.write_rows(row("right"), row("wrong", says="x"))
    evals.write_config()
    run = evals.run("shop.eval.yaml", "-k", "right").folder
    for option in ("--eval-resume", "--eval-regrade"):
        evals.run("shop.eval.yaml", f"{option}={run}")
        (file,) = (run / "index").iterdir()
        assert len(file.read_bytes().splitlines()) == 2
