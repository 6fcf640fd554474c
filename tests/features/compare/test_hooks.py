"""What runs are compared with, and what is left of that without the feature."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_browsereval.config import GateConfig
from tests.hooks.small_evals import Evals, row


@pytest.mark.parametrize("gate", [{"max_drop": 0.1}, {"max_regressions": 0, "baseline": "base.json"}])
def test_rules_without_their_feature_are_refused(evals: Evals, gate: dict[str, Any]) -> None:
    """A gate that nobody decides must not be green: exit code 4, before anything is spent."""
    assert GateConfig.model_validate(gate).compares
    result = evals.play([row("a")], "-p", "no:browsereval.compare", gate=gate)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*shop.eval.yaml:*: gate.max_*: the feature that acts on this key is*"])
    assert not (evals.path / "results").exists()


def test_a_baseline_that_is_not_there_is_refused(evals: Evals) -> None:
    """Exit code 4, and how to make one."""
    result = evals.play([row("a")], gate={"max_drop": 0.1, "baseline": "base.json"})
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    told = (
        "*gate.baseline: there is no file or run *base.json. Write it with `browsereval export RUN --to base*"
    )
    result.stderr.fnmatch_lines([told])
