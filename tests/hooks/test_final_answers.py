"""Whose words are graded: those of an agent or an executor, never those of the harness."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from pytest_browsereval.testing import ModelRequest, Reply, ScriptedModel, call, calls, done
from tests.features.pointing.service import Service
from tests.hooks.launched import metadata
from tests.hooks.small_evals import Evals, row

LOOK = calls(call("list_tabs"))


@pytest.fixture
def service() -> Iterator[Service]:
    made = Service(lambda _: {"action": "end"})
    yield made
    made.close()


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


@pytest.mark.slow
def test_a_service_that_ends_without_words_gives_no_answer(evals: Evals, service: Service) -> None:
    """What the harness knows of its actions is a warning, and no grader reads it."""
    evals.write_rows(row("silent", answer="task", graders=[{"type": "answer", "match": "includes"}]))
    evals.write_config(agent={"type": "visual-action", "url": service.url}, browser="playwright")
    run = evals.run("shop.eval.yaml")
    assert run.ret == pytest.ExitCode.TESTS_FAILED
    found = metadata(evals.run_folder(), "silent")
    assert (found.verdict, found.final_answer) == ("failed", None)
    assert [warning.message for warning in found.warnings] == ["The task was ended without an action."]


def test_an_answer_is_read_as_a_careful_person_reads_it(evals: Evals) -> None:
    """What is right in any language passes, what is wrong fails, and what may be either is errored."""
    number = [{"type": "answer", "match": "number"}]
    cases = {
        "french": (row("french", says="C\u2019est 12\u202f500 €.", answer=12500, graders=number), "passed"),
        "minus": (row("minus", says="It is \u20135 degrees.", answer=5, graders=number), "failed"),
        "either": (row("either", says="Das sind 12.500 Stück.", answer=12500, graders=number), "errored"),
        "quotes": (row("quotes", says="Trader Joe\u2019s\u200b", answer="Trader Joe's"), "passed"),
    }
    run = evals.play([one for one, _ in cases.values()], gate={"min_pass_rate": 0.6, "max_error_rate": 0.2})
    assert run.ret == pytest.ExitCode.TESTS_FAILED
    found = {name: metadata(evals.run_folder(), name) for name in cases}
    assert {name: one.verdict for name, one in found.items()} == {
        name: verdict for name, (_, verdict) in cases.items()
    }
    assert found["either"].error_source == "grader"
    assert "cannot tell whether the answer" in (found["either"].reason or "")
