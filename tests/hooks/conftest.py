"""Fixtures of the whole-program tests."""

from __future__ import annotations

import pytest

from pytest_browsereval.testing.evals import EvalRun
from tests.hooks.small_evals import Evals, row


@pytest.fixture
def evals(pytester: pytest.Pytester) -> Evals:
    """Return a folder to write evals into and to run them in."""
    made = Evals(pytester.path)
    made.pytester = pytester
    return made


@pytest.fixture
def run(evals: Evals) -> EvalRun:
    """Return a run of three rows, one of which fails; its gate is met."""
    made = evals.play([row("r0"), row("r1"), row("r2", says="wrong")], gate={"min_pass_rate": 0.5})
    assert made.ret == 0, made.stdout.str()
    return made
