"""The tutorial about gates, in its order: from a gate that is met to one that names the row that was lost."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from pytest_browsereval.__main__ import main
from pytest_browsereval.testing import EvalDriver
from tests.support import LEFT_OUT

PAGE = (Path(__file__).parents[2] / "docs/tutorials/gate-a-pull-request.md").read_text(encoding="utf-8")


def find_shown(start: str) -> str:
    """Return the one line of the page that begins so."""
    (line,) = (line for line in PAGE.splitlines() if line.startswith(start))
    return line


@pytest.mark.slow
def test_the_gate_names_the_row_that_was_lost(tmp_path: Path) -> None:
    """What the page shows is what is printed."""
    assert main(["init", str(tmp_path / "evals")]) == 0
    driver = EvalDriver(tmp_path / "evals", options=LEFT_OUT)
    agent, config = driver.path / "my_agent.py", driver.path / "shop.eval.yaml"
    whole = agent.read_text(encoding="utf-8")
    head, _, rest = whole.partition("    if voucher")
    forgetful = f"{head}    page = await{rest.partition('    page = await')[2]}"

    agent.write_text(forgetful, encoding="utf-8")
    first = driver.run()
    first.assert_outcomes(passed=7, xfailed=1)
    assert find_shown("gate min_pass_rate: pass rate 80.0%") in first.outlines

    agent.write_text(whole, encoding="utf-8")
    driver.run().assert_outcomes(passed=8)
    assert driver.run_command("export", "latest", "--to=baseline", "-o", "baseline.json").ret == 0
    gate = yaml.safe_load(config.read_text(encoding="utf-8"))["gate"]
    kept = config.read_text(encoding="utf-8").partition("gate:")[0]
    gate |= {"baseline": "baseline.json", "max_regressions": 0}
    config.write_text(f"{kept}gate: {gate}\n", encoding="utf-8")

    agent.write_text(forgetful, encoding="utf-8")
    last = driver.run()
    last.assert_outcomes(passed=7, failed=1, xfailed=1)
    said = find_shown("gate not met: 1 task regressed").partition("against ")
    (told,) = (line for line in last.outlines if line.startswith(said[0]))
    assert told.endswith(said[2].partition(" ")[2])
