"""Runs that every export is tried on, and their figures, read without the package's own readers.

``mixed_run`` has delegations, trials, errors with second attempts, a failed row, a protected row and an id
with a slash. ``example_run`` is a part of one of the two examples, in a real browser: of the tier ``slow``.
An export's test reads its own files back by its own tools, and compares with ``read_figures``.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from pytest_browsereval.testing import EvalDriver, ModelRequest, Reply, ScriptedModel, call, calls, done
from tests.hooks.small_evals import Driver, Evals, row
from tests.support import LEFT_OUT

ROOT = Path(__file__).parent.parent

SECRET_ANSWER = "the answer is ultramarine"
"""What the agent says in the protected row."""

LEAD, HAND = "lead", "hand"
"""The models of the orchestrator and of its executor."""

PRICES = {"input_per_mtok": 10, "output_per_mtok": 30}

BROKEN_AGENT = """
def solve(context):
    raise RuntimeError("the agent's own \\x1b[31mcode\\x1b[0m")
"""


@dataclass(frozen=True)
class Figures:
    """What an export has to say of a run: trials by their last attempts, money and tokens of all attempts."""

    trials: int
    passed: int
    failed: int
    errored: int
    pass_rate: float | None
    cost_usd: float | None
    input_tokens: int
    output_tokens: int
    attempts: int

    @classmethod
    def of(cls, verdicts: list[str], **others: Any) -> Figures:
        """Return figures by the verdicts of trials, and those of all attempts."""
        passed, failed, errored = (verdicts.count(name) for name in ("passed", "failed", "errored"))
        counts = {"passed": passed, "failed": failed, "errored": errored}
        return cls(trials=len(verdicts), **counts, pass_rate=passed / (passed + failed), **others)


def read_figures(run: Path) -> Figures:
    """Return the figures of a run by its ``summary.json``, and tokens by the records of its attempts."""
    summary = json.loads((run / "summary.json").read_text(encoding="utf-8"))
    records = [json.loads(file.read_bytes()) for file in run.glob("tasks/*/*/*/attempt-*/metadata.json")]
    counts = {name: summary[name] for name in ("trials", "passed", "failed", "errored", "pass_rate")}
    tokens = {
        name: sum(record["usage"][name] for record in records) for name in ("input_tokens", "output_tokens")
    }
    cost = summary["cost_usd"]
    return Figures(**counts, **tokens, cost_usd=cost and round(cost, 9), attempts=len(records))


def _answer(request: ModelRequest) -> Reply:
    """Speak for both models: one goal, one look at the tabs, one report, one answer."""
    is_second = any(message["role"] == "tool" for message in request.messages)
    answer = SECRET_ANSWER if "secret" in request.text else "right"
    if request.body["model"] == HAND:
        reply = done("One tab.") if is_second else calls(call("list_tabs"), call("list_tabs"), text="I look.")
        return reply.costing(700, 20, cached=100)
    reply = done(answer) if is_second else calls(call("delegate", instruction="Look at the tabs."))
    return reply.costing(1000, 50)


def make_mixed_run(evals: EvalDriver, **keys: Any) -> Path:
    """Make a run of three variants with two trials each, and return its folder.

    Args:
        evals: writes and runs it.
        keys: of the config.
    """
    (evals.path / "broken.py").write_text(BROKEN_AGENT, encoding="utf-8")
    evals.write_rows(
        row("shop/mug", tags=["smoke"], metadata={"website": "shop"}),
        row("wrong", says="wrong", metadata={"website": "shop"}),
        row("secret", says=SECRET_ANSWER, answer=SECRET_ANSWER, protected=True, query="Say the secret."),
    )
    with ScriptedModel(_answer) as server:
        model = {"provider": "openai-compatible", "base_url": server.base_url, "prices": PRICES}
        pair = {
            "type": "orchestrator-executor",
            "orchestrator": {**model, "model": LEAD},
            "executor": {"type": "single", **model, "model": HAND},
        }
        variants = {
            "pair": pair,
            "plays": "scripted",
            "broken": {"type": "function", "function": "broken:solve"},
        }
        evals.write_config(variants=variants, trials=2, retries=1, **keys)
        run = evals.run("shop.eval.yaml")
    assert run.ret == pytest.ExitCode.TESTS_FAILED, run.stdout.str()
    assert server.problems == []
    return run.folder


_made: dict[str, Path] = {}
"""The runs of this process: each module that imports a fixture has one of its own, and shares the run."""


@pytest.fixture(scope="session")
def mixed_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the run with everything in it; do not change it."""
    if "mixed" not in _made:
        _made["mixed"] = make_mixed_run(Evals(tmp_path_factory.mktemp("mixed")))
    return _made["mixed"]


@pytest.fixture(scope="session", params=["quickstart", "miniwob"])
def example_run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a run of an example, of rows on all of its sites; do not change it. Its tests are slow."""
    if request.param in _made:
        return _made[request.param]
    folder = tmp_path_factory.mktemp(request.param)
    config = ROOT / "examples" / request.param / "eval.yaml"
    some = ["--eval-limit=8"] if request.param == "miniwob" else ["-m", "smoke"]
    driver = Driver(folder, options=LEFT_OUT)
    run = driver.run(f"--eval-config={config}", f"--eval-output={folder / 'results'}", *some)
    assert run.ret == pytest.ExitCode.OK, run.stdout.str()
    _made[request.param] = run.folder
    return run.folder
