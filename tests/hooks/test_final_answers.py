"""Whose words are graded: those of an agent or an executor, never those of the harness."""

from __future__ import annotations

import pytest

from pytest_browsereval.testing import ModelRequest, Reply, ScriptedModel, call, calls, done
from tests.hooks.launched import metadata
from tests.hooks.small_evals import Evals, row

LOOK = calls(call("list_tabs"))


def play(request: ModelRequest) -> Reply:
    """Delegate for ever; an executor looks for ever, or reports at once."""
    if request.body["model"] == "lead":
        return calls(call("delegate", instruction=request.text.partition("answer of ")[2][:4]))
    return LOOK if "cuts" in request.text else done("3")


def test_an_orchestrator_answers_with_an_executors_own_words(evals: Evals) -> None:
    """Out of turns, a report is the answer; what the harness says of an executor that was cut off is not."""
    rows = [row("cuts", answer=3), row("ends", answer=3)]
    evals.write_rows(*({**one, "graders": [{"type": "answer", "match": "number"}]} for one in rows))
    with ScriptedModel(play) as server:
        evals.write_config(
            agent={
                "type": "orchestrator-executor",
                "orchestrator": {"model": "lead", "base_url": server.base_url, "max_turns": 1},
                "executor": {"model": "hand", "base_url": server.base_url},
                "max_steps_per_delegation": 3,
            }
        )
        run = evals.run("shop.eval.yaml")
    assert run.ret == pytest.ExitCode.TESTS_FAILED
    cut, ended = (metadata(evals.run_folder(), name) for name in ("cuts", "ends"))
    assert (cut.verdict, cut.final_answer) == ("failed", None)
    assert (ended.verdict, ended.final_answer) == ("passed", "3")
    limit = "orchestrator.max_turns is 1; all were used"
    assert cut.reason == f"stopped ({limit}): answer: no answer was given"
    assert (
        "goal     executor-1: max_steps, 3 steps. [harness] Stopped: 3 steps were allowed" in run.stdout.str()
    )
