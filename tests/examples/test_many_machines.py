"""The page about many machines, its commands on the five rows of `init`."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from pytest_browsereval.testing import EvalDriver
from tests.support import LEFT_OUT

PAGE = Path(__file__).parents[2] / "docs/how-to/many-machines.md"
SHARDS = 4


@pytest.mark.slow
def test_shards_become_one_run_with_one_gate(tmp_path: Path) -> None:
    """Five rows leave no shard of four empty; the merged run has all rows, and meets the gate."""
    text = PAGE.read_text(encoding="utf-8")
    (block,) = re.findall(r"^```bash\n(pytest [^\n]*--eval-shard=.*?)^```", text, re.MULTILINE | re.DOTALL)
    shard, merge, gate = (shlex.split(line, comments=True) for line in block.splitlines())
    driver = EvalDriver(tmp_path, options=LEFT_OUT)
    assert driver.run_command("init", "evals").ret == 0
    for number in range(1, SHARDS + 1):
        words = [word.replace("=1/4", f"={number}/{SHARDS}") for word in shard[1:]]
        run = driver.run(*words)
        assert run.ret == pytest.ExitCode.OK
    at = next(place for place, word in enumerate(merge) if "*" in word)
    parts = sorted(str(path.relative_to(tmp_path)) for path in tmp_path.glob(merge[at]))
    merged = driver.run_command(*merge[1:at], *parts, *merge[at + 1 :])
    assert merged.ret == 0, merged.stderr.str()
    decided = driver.run_command(*gate[1:])
    assert decided.ret == 0, decided.stderr.str()
    decided.stdout.fnmatch_lines(["met min_pass_rate: pass rate 100.0% (5/5) meets 80.0%"])
