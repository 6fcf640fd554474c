"""Tests that need more than the test extras are left out by name, told, and run by CI."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
ONE_OF_A_TIER = "tests/examples/test_browser_use.py"
CI = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
MARKERS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["pytest"]["ini_options"]["markers"]
TIERS = [marker.partition(":")[0] for marker in MARKERS]


def collect(*args: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pytest", "--collect-only", ONE_OF_A_TIER, *args]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600, check=False)


def test_a_tier_is_left_out_and_the_header_says_so() -> None:
    """Without its name nothing of it runs, and who looks for it reads what to type."""
    result = collect()
    assert result.returncode == pytest.ExitCode.NO_TESTS_COLLECTED
    assert f"left out: {', '.join(TIERS)}; pytest -m NAME runs one, .ci/run all" in result.stdout
    assert "1 deselected" in result.stdout


def test_a_tier_runs_by_its_name() -> None:
    """Then the others are left out."""
    result = collect("-m", "browser_use")
    assert result.returncode == 0
    assert "left out: real_model, peers, published;" in result.stdout


def test_ci_runs_every_tier() -> None:
    """No mark without a run."""
    assert sorted(re.findall(r"^ *tier (\w+)$", CI, re.MULTILINE)) == sorted(TIERS)
