"""Runs in which no attempt begins: they are the newest one, and nothing older stands in for them."""

from __future__ import annotations

import pytest

from tests.hooks.small_evals import Evals, row

BROKEN = """
import pytest

def pytest_runtest_setup(item):
    if item.name == "a":
        raise ConnectionError("the database is down")
"""


@pytest.mark.parametrize("hook", [BROKEN, BROKEN.replace('raise ConnectionError("the', 'pytest.skip("the')])
def test_a_run_without_an_attempt_is_the_latest_one(evals: Evals, hook: str) -> None:
    """Its fixture or a hook failed before: every command speaks of it, and its gate is missed."""
    assert evals.play([row("a")], gate={"min_pass_rate": 0.5}).ret == 0
    (evals.path / "conftest.py").write_text(hook)
    run = evals.run("shop.eval.yaml")
    assert run.ret == 1
    for name in ("latest", str(run.folder)):
        gated = evals.run_command("gate", name)
        assert gated.ret == 1
        assert run.folder.name in gated.stdout.str()
    for command in (["runs", "latest"], ["view", "latest"], ["compare", "latest", "latest"]):
        assert run.folder.name in (told := evals.run_command(*command)).stdout.str() + told.stderr.str(), (
            command
        )
    listed = evals.run_command("runs")
    assert listed.ret == 0
    listed.stdout.fnmatch_lines(["*gate not met: *"])
