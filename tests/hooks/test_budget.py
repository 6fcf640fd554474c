"""The budget of a run: what is done stays, what is not begun is told, and what lacks trials is not green."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_browsereval.capture.context import UNSEEN
from pytest_browsereval.testing import ModelRequest, Reply, ScriptedModel, done, refuses
from tests.hooks.launched import FUNCTION
from tests.hooks.small_evals import Evals, row

KEY = "sk-budget-0123456789"


def agent(url: str, **more: Any) -> dict[str, Any]:
    """Return an agent whose every answer costs a dollar."""
    prices = {"input_per_mtok": 1_000_000, "output_per_mtok": 0}
    return {"type": "single", "model": "m", "baseUrl": url, "apiKey": "BUDGET_KEY", "prices": prices, **more}


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BUDGET_KEY", KEY)


@pytest.mark.parametrize("args", [(), ("-n", "2")])
@pytest.mark.slow
def test_what_the_money_does_not_cover_is_skipped(evals: Evals, args: tuple[str, ...]) -> None:
    """Attempts that are done stay, the rest is skipped, the run ends red; more money finishes it."""
    evals.write_rows(*(row(name, says=None) for name in "abcdefgh"))
    with ScriptedModel(lambda _: done("right").costing(1, 0)) as server:
        evals.write_config(agent=agent(server.base_url), budget={"max_cost_usd": 3})
        result = evals.run("shop.eval.yaml", "-rs", *args)
        assert result.ret == pytest.ExitCode.TESTS_FAILED
        passed = result.parseoutcomes()["passed"]
        assert 3 <= passed <= 4, "two workers may both have one in flight"
        assert result.parseoutcomes()["skipped"] == 8 - passed
        result.stdout.fnmatch_lines(
            [
                f"*{8 - passed} not run*",
                f"not run, since the budget is used up: {8 - passed} of 8 trials*",
                "Raise it, then resume the run with",
                "  pytest *--eval-resume=*",
                "SKIPPED*budget: budget.max_cost_usd is $3, and $* is spent",
            ]
        )
        assert evals.summary()["over_budget"] == 8 - passed
        assert evals.summary()["skipped"] == 0
        again = evals.run("shop.eval.yaml", "--eval-resume", "--eval-set=budget.max_cost_usd=100", *args)
        again.assert_outcomes(passed=8)
        assert len(server.requests) == 8
    assert evals.summary()["cost_usd"] == 8


@pytest.mark.slow
def test_money_that_nobody_tells_ends_the_run(evals: Evals) -> None:
    """A program may have asked anybody. Of a call that was cut off there is a warning; the run goes on."""
    program = {"type": "command", "command": ["{python}", "-c", "print('right')"], "mcp": "off"}
    evals.write_rows(row("a"), row("b"))
    with ScriptedModel(lambda _: done("right").after(30)) as server:
        cut_off = agent(server.base_url)
        budget = {"max_cost_usd": 1000}
        evals.write_config("cut.eval.yaml", agent=cut_off, limits={"timeout_ms": 3000}, budget=budget)
        evals.write_config("told.eval.yaml", agent=program, budget=budget, gate={"max_cost_usd": 1000})
        evals.write_config("none.eval.yaml", agent="scripted", budget=budget)
        results = {name: evals.run(f"{name}.eval.yaml", "-rs") for name in ("cut", "told", "none")}
    results["cut"].assert_outcomes(errors=2)
    (folder,) = evals.run_folder("cut").glob("tasks/a/*/*/attempt-1")
    assert UNSEEN.format(1) in (folder / "metadata.json").read_text()
    assert results["told"].parseoutcomes()["skipped"] == 1
    results["told"].stdout.fnmatch_lines(
        ["SKIPPED*budget: budget.max_cost_usd is $1000, and * is not known*"]
    )
    results["told"].stdout.fnmatch_lines(["*the cost is not known*"])
    results["told"].stdout.fnmatch_lines(
        [
            "not run, since a cost is not known (*): 1 of 2 trials:",
            "Leave budget.max_cost_usd out (--eval-set budget.max_cost_usd=null), then resume the run with",
        ]
    )
    assert "used up" not in results["told"].stdout.str()
    rest = evals.run("told.eval.yaml", "--eval-resume", "--eval-set=budget.max_cost_usd=null")
    assert "not run, since" not in rest.stdout.str()
    assert "skipped" not in rest.parseoutcomes()
    assert evals.summary("told")["cost_usd"] is None
    results["none"].assert_outcomes(passed=2)  # nothing was asked
    assert evals.summary("none")["cost_usd"] == 0


@pytest.mark.slow
def test_a_request_that_nobody_told_the_usage_of_is_a_warning(evals: Evals) -> None:
    """The server may have done its work: silent until a request's time limit, or cut off in the middle."""
    firsts = {"silent": done("right").after(60), "cut": done("right").cut(), "down": refuses(500)}
    asked: list[str] = []

    def answer(request: ModelRequest) -> Reply:
        name = request.body["model"]
        asked.append(name)
        return firsts[name] if asked.count(name) == 1 else done("right").costing(1, 0)

    with ScriptedModel(answer) as server:
        variants = {
            name: {**agent(server.base_url), "model": name, "request_timeout_s": 2} for name in firsts
        }
        evals.write_config(variants=variants)
        evals.write_rows(row("a", says=None))
        evals.run("shop.eval.yaml").assert_outcomes(passed=3)
    assert len(asked) == 6
    for each in evals.summary()["results"]:
        (file,) = evals.run_folder().glob(f"tasks/a/{each['variant']}/1/attempt-1/metadata.json")
        assert (UNSEEN.format(1) in file.read_text()) is (each["variant"] != "down"), each
        assert each["cost_usd"] == 1


def test_a_gate_is_not_met_by_a_part_of_the_run(evals: Evals) -> None:
    """All that was judged has passed, and yet."""
    evals.write_rows(*(row(name, says=None) for name in "abc"))
    with ScriptedModel(lambda _: done("right").costing(1, 0)) as server:
        evals.write_config(
            agent=agent(server.base_url), budget={"max_cost_usd": 1}, gate={"min_pass_rate": 0.5}
        )
        result = evals.run("shop.eval.yaml")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["gate complete: 2 of the run's 3 trials have no result*"])


def test_time_that_is_over_begins_nothing(evals: Evals) -> None:
    """An attempt that is in flight is finished; the next is not begun, by an errored one's retry either."""
    (evals.path / "my_agent.py").write_text(
        "import time\ndef solve(context):\n    time.sleep(1.5)\n    raise RuntimeError('no')\n"
    )
    rows = [row("a"), row("b"), row("c")]
    result = evals.play(rows, agent=FUNCTION, retries=5, budget={"max_minutes": 0.02})
    outcomes = result.parseoutcomes()
    assert outcomes.get("errors", 0) <= 1
    assert outcomes["skipped"] == 3 - outcomes.get("errors", 0)
    assert len(list(evals.path.glob("results/shop/*/tasks/*/*/*/attempt-*"))) <= 1
    assert result.ret == pytest.ExitCode.TESTS_FAILED
