"""Tiers of tests: CI runs each."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_ci_runs_every_tier() -> None:
    """A marker that `.ci/run` does not name would leave its tests to nobody; the plain command runs none."""
    pytest_options = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["pytest"]["ini_options"]
    tiers = {marker.partition(":")[0] for marker in pytest_options["markers"]} - {"quick"}
    parts = re.search(r"^THEN=\((.+)\)$", (ROOT / ".ci/run").read_text(), re.MULTILINE)
    assert parts
    assert tiers - set(parts[1].split()) == set()
    left_out = re.search(r"^TIERS = \((.+?)\)$", (ROOT / "conftest.py").read_text(), re.MULTILINE | re.DOTALL)
    assert left_out
    assert tiers == set(re.findall(r"\w+", left_out[1]))
