"""Benchmarks run: each with one round and the smallest sizes, so that none rots unseen."""

from __future__ import annotations

import json
import os
import shlex
import sys
from pathlib import Path

import pytest

from tests.support import run_program

pytestmark = [pytest.mark.benchmarks, pytest.mark.timeout(2_300)]  # a little less than the tier has

FOLDER = Path(__file__).parents[1] / "benchmarks"
TINY = {
    "all_runs": "--rounds 1 --runs 30",
    "attacks": "--rounds 1 --rows 2 --attacks 2",
    "capture": "--rounds 1",
    "collection": "--rounds 1 --rows 200",
    "dashboard": "--rounds 1 --only short",
    "house": "--rounds 1",
    "latency": "--rounds 1 --only 'ours 8' --tasks-per-lane 1",
    "long_run": "--rounds 1 --tasks 8 --first 4 --kinds scripted",
    "mixed_rows": "--rounds 1",
    "page_text": "--rounds 1",
    "parts": "--rounds 1 --copies 1",
    "per_task": "--rounds 1",
    "progress": "--rounds 1",
    "sequential_test": "--rounds 5",
    "startup": "--rounds 1",
    "stored": "--rounds 1 --attempts 100",
    "tables": "--rounds 1 --attempts 100",
    "tool_call": "--rounds 1",
    "viewer": "--rounds 1 --attempts 100",
}
LEFT_OUT = {
    "guarding": "takes five minutes",
    "marks": "needs a model on this machine",
    "pages": "serves the pages of the others",
    "raw_playwright": "is what the others are compared with",
    "run": "is `instant` and `latency`",
    "suite": "runs the tests",
}


def test_each_benchmark_measures(tmp_path: Path, subtests: pytest.Subtests) -> None:
    """It ends with 0, or with 1 where a goal was missed, which says nothing here, and writes its figures."""
    programs = {file.stem for file in FOLDER.glob("*.py") if "__main__" in file.read_text(encoding="utf-8")}
    assert programs == TINY.keys() | LEFT_OUT.keys()
    for name, options in TINY.items():
        with subtests.test(name):
            figures = tmp_path / f"{name}.json"
            program = str(FOLDER / f"{name}.py")
            command = (sys.executable, program, *shlex.split(options), "--json", str(figures))
            done = run_program(command, cwd=tmp_path, env=dict(os.environ), limit_s=900)
            assert done.returncode in (0, 1), done.stdout + done.stderr
            assert figures.exists(), done.stdout + done.stderr
            assert json.loads(figures.read_text())
