"""How examples are run: with limits for machines that are busy, results in the test's folder."""

from __future__ import annotations

from pathlib import Path

from pytest_browsereval.testing.evals import EvalRun
from tests.hooks.small_evals import Evals

TIMES = {"browser.action_timeout_ms": 60_000, "limits.timeout_ms": 250_000, "limits.stuck_s": 120}
PATIENCE = [f"--eval-set={key}={value}" for key, value in TIMES.items()]


def run_example(evals: Evals, config: Path, *args: str, plugins: tuple[object, ...] = ()) -> EvalRun:
    out = f"--eval-output={evals.path / 'out'}"
    return evals.run(f"--eval-config={config}", out, *PATIENCE, *args, plugins=plugins)
