"""Evals whose rows are judged by rubrics and by votes of several verifiers."""

from __future__ import annotations

from typing import Any

from pytest_browsereval.testing import ModelRequest, Reply, ScriptedModel
from tests.features.shared.judging.asking import in_form
from tests.features.shared.judging.bench import aligned, made, numbers_in, question_of, scores, sight
from tests.hooks.launched import metadata, verdicts
from tests.hooks.small_evals import Evals, row

MADE = made(40, 30, 20, 10)


def judge(request: ModelRequest) -> Reply:
    """Find fault with all that comes from the row ``bad``."""
    good = "answer of bad" not in request.text
    answers: dict[str, Any] = {
        "alignment": aligned("PASS" if good else "FAIL"),
        "make": MADE,
        "score": scores(40, 30, 20, 10) if good else scores(40, 0, 0, 0),
        "see": sight(satisfied=good),
        "read": scores(40, 30, 20, 10),
        "look": scores(40, 30, 20, 10, pictures=[]),
        "outcome": {
            "reasoning": "a captcha",
            "obstacles": [
                {
                    "kind": "captcha",
                    "what": "a captcha",
                    "could_be_avoided": False,
                    "pictures": numbers_in(request)[-1:],
                    "actions": [],
                }
            ],
            "is_accomplished": False,
            "failed_only_by_obstacles": True,
        },
    }
    return in_form(request, answers[question_of(request)])


def test_real_attempts_by_rubric_and_by_vote(evals: Evals) -> None:
    """BrowserOS's name of the vote; a blocked row is errored and tells what stood in the way."""
    evals.write_rows(
        row("good", graders=["fara_grader"]),
        row("bad", graders=["fara"], says="answer of bad"),
        row("blocked", graders=["rubric"]),
    )
    with ScriptedModel(judge) as server:
        keys = {"model": "scripted", "base_url": server.base_url, "api_key": "none"}
        evals.write_config(judge=keys, lanes=3)
        run = evals.run("shop.eval.yaml", "-rA")
        server.assert_finished()
    output = run.stdout.str()
    assert run.ret == 1, output
    assert verdicts(evals.summary()) == {"good": "passed", "bad": "failed", "blocked": "errored (grader)"}
    voted = metadata(evals.run_folder(), "bad").grader_results["fara_combined"]
    assert [one.verdict for one in voted.criteria] == ["failed"] * 3
    assert voted.usage.requests == 4
    blocked = metadata(evals.run_folder(), "blocked").grader_results["rubric"]
    blockers: Any = blocked.details["blockers"]
    assert [blocker["kind"] for blocker in blockers] == ["captcha"]
    assert "only because of what the agent could not avoid (captcha)" in output
