"""``trajectory_score``: the documented formulas, and no invented number."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from pytest_browsereval.capture.message_log import MessageLogger
from pytest_browsereval.errors import Fault
from pytest_browsereval.features.judges.trajectory_score import TrajectoryScoreGrader, score_by_rules
from pytest_browsereval.features.shared.judging.base import ModelGrader
from pytest_browsereval.llm.client import close_clients
from pytest_browsereval.model.grades import GraderResult, Verdict
from pytest_browsereval.model.messages import AssistantMessage, Message, UserMessage
from pytest_browsereval.testing import ModelRequest, Reply, ScriptedModel
from tests.features.shared.judging.asking import in_form, judge_at
from tests.features.shared.judging.bench import called, gave
from tests.graders.support import make_recorded, make_task

OK, REFUSED = {"ok": True, "output": "done"}, {"ok": False, "output": "no such element"}


def play(*calls: tuple[str, Any], **more: Any) -> list[Message]:
    """Return the log of some calls with their results; None is a call without one."""
    messages: list[Message] = []
    for number, (tool, result) in enumerate(calls, 1):
        messages.append(called(number, tool))
        if result is not None:
            messages.append(gave(number, result, is_error=result == REFUSED, **more))
    return messages


def grade(grader: ModelGrader, folder: Path, *messages: Message) -> GraderResult:
    log = MessageLogger(folder)
    for message in messages:
        log.log(message)
    log.close()

    async def course() -> GraderResult:
        try:
            return await grader.grade(make_recorded(make_task(), folder=folder))
        finally:
            await close_clients()

    return asyncio.run(course())


def test_an_attempt_without_messages(tmp_path: Path) -> None:
    """The documents' worked example: 0.3, 0, 1 and 1 make 0.42."""
    result = grade(TrajectoryScoreGrader(), tmp_path)
    assert (result.verdict, result.score) == (Verdict.FAILED, 0.42)
    assert [c.actual for c in result.criteria] == [0.3, 0.0, 1.0, 1.0]
    assert [c.weight for c in result.criteria] == [0.4, 0.3, 0.15, 0.15]
    assert result.details["method"] == "heuristic"
    assert result.cost_usd == 0.0


def test_a_log_that_is_gone_is_no_score(tmp_path: Path) -> None:
    """Nobody can tell what the agent did, which is not the same as that it did nothing."""
    with pytest.raises(Fault, match=r"messages\.jsonl is missing"):
        asyncio.run(TrajectoryScoreGrader().grade(make_recorded(make_task(), folder=tmp_path)))


def test_ten_calls_two_failed_one_retry(tmp_path: Path) -> None:
    """The other one: 0.8 - 0.05 - 0.20 = 0.55; the failed retry is punished twice, as documented."""
    tools = ["open", "click", "click", "read", "fill", "scroll", "read", "fill", "press", "done"]
    results = [OK, REFUSED, REFUSED, *[OK] * 7]
    result = grade(TrajectoryScoreGrader(), tmp_path, *play(*zip(tools, results, strict=True)))
    assert result.details["successRatio"] == 0.55
    counted = {name: result.details[name] for name in ("toolCalls", "failedCalls", "retries")}
    assert counted == {"toolCalls": 10, "failedCalls": 2, "retries": 1}
    # 0.40 * 0.8 + 0.30 * 0.5 + 0.15 * 0.55 + 0.15 * 1.0
    assert result.score == result.details["weightedTotal"] == 0.7025
    assert result.verdict is Verdict.PASSED
    assert result.reasoning.startswith("heuristic: 0.70 >= 0.7 (goalCompletion 0.80, planCorrectness 0.50")
    assert grade(TrajectoryScoreGrader(threshold=0.71), tmp_path).verdict is Verdict.FAILED


def test_goal_and_plan_by_rules(subtests: pytest.Subtests) -> None:
    """Named tools and the number of calls decide, exactly as in the table."""
    cases: list[tuple[list[str], float, float]] = [
        (["click"], 0.5, 0.3),
        (["click", "done"], 0.5, 0.8),
        (["planner_tool", "done_tool"], 0.7, 0.8),
        (["classification_tool"], 0.7, 0.3),
        (["click"] * 20, 0.5, 0.3),
        (["planner_tool"] + ["click"] * 20, 0.3, 0.3),
    ]
    for tools, plan, goal in cases:
        with subtests.test(tools=tools, plan=plan, goal=goal):
            scores = score_by_rules(play(*((tool, OK) for tool in tools)))
            assert (scores["planCorrectness"], scores["goalCompletion"]) == (plan, goal)


def test_token_bands() -> None:
    """Four characters are a token; each band ends with its own last token."""
    bands = {0: 1, 128_003: 1, 128_004: 0.8, 256_004: 0.6, 512_004: 0.4, 1_024_003: 0.4, 1_024_004: 0.2}
    logs = {count: [UserMessage(content="x" * count)] for count in bands}
    assert {count: score_by_rules(log)["contextEfficiency"] for count, log in logs.items()} == bands


def test_results_are_read_by_their_contract(tmp_path: Path) -> None:
    """``ok: false`` fails, also as text; a plain sentence succeeds."""
    result = grade(
        TrajectoryScoreGrader(),
        tmp_path,
        *play(
            ("a", {"ok": False, "output": ""}),
            ("b", '{"ok": false, "output": "x"}'),
            ("c", "Clicked."),
            ("d", [{"type": "text"}]),
            ("e", None),
        ),
        called(9, "f"),
        gave(9, {"ok": True, "output": ""}, is_error=True),
    )
    assert result.details["failedCalls"] == 3


# -- with a model


def rating(goal: Any, plan: Any) -> Any:
    def script(request: ModelRequest) -> Reply:
        asked = "plan" if "judge the plan" in request.text else "goal"
        return in_form(request, {"reasoning": f"{asked} seen", "score": goal if asked == "goal" else plan})

    return script


LOG: list[Message] = [
    UserMessage(content="x" * 300),
    AssistantMessage(content="I buy."),
    *play(("click", OK), ("done", OK)),
]


def test_a_model_scores_goal_and_plan(tmp_path: Path) -> None:
    """Two questions; errors and context are still counted, and the method is named in the grade."""
    with ScriptedModel(rating(1, 0.25)) as model:
        result = grade(TrajectoryScoreGrader(method="model", judge=judge_at(model)), tmp_path, *LOG)
        texts = [request.text for request in model.requests]
    assert result.score == pytest.approx(0.4 + 0.3 * 0.25 + 0.15 + 0.15)
    assert (result.details["method"], result.details["reasoning"]) == (
        "model",
        "Goal: goal seen Plan: plan seen",
    )
    assert result.usage.requests == 2
    goal, plan = sorted(texts, key=lambda text: "judge the plan" in text)
    assert "\nclick\ndone\n" in plan
    assert "assistant: I buy." in goal
    assert "x" * 100 not in goal  # the first of six messages is no longer among the last five
    heuristic = TrajectoryScoreGrader().fingerprint(1)
    assert result.fingerprint.startswith("trajectory_score/1/")
    assert result.fingerprint != heuristic


def test_what_the_model_scores_is_taken_as_it_is(tmp_path: Path, subtests: pytest.Subtests) -> None:
    """0.7 is enough, and nothing below it; a number out of range is errored, and never clamped."""
    for goal, plan, score, told in (
        (1, 0, 0.7, "0.70 >= 0.7 "),
        (0.9999, 0, 0.69996, " < 0.7 "),
        *((0.5, wrong, None, "gave no plan score") for wrong in (1.5, -1, "8/10", None)),
    ):
        with subtests.test(goal=goal, plan=plan), ScriptedModel(rating(goal, plan)) as model:
            folder = tmp_path / f"{goal}{plan}".replace("/", "")
            folder.mkdir()
            result = grade(TrajectoryScoreGrader(method="model", judge=judge_at(model)), folder, *LOG)
            assert (result.score, told in result.reasoning) == (score, True)
            assert (result.verdict is Verdict.PASSED) == (score == 0.7)


def test_a_model_is_not_asked_about_nothing(tmp_path: Path) -> None:
    """Without a log there is nothing to judge: errored, and no token spent."""
    with ScriptedModel([]) as model:
        result = grade(TrajectoryScoreGrader(method="model", judge=judge_at(model)), tmp_path)
        assert model.requests == []
    assert (result.verdict, result.usage.requests) == (Verdict.ERRORED, 0)


def test_the_heuristic_needs_no_judge_and_refuses_one() -> None:
    """A judge that would not be asked is a mistake; a model that is not there is told before the run."""
    assert TrajectoryScoreGrader().needs(make_task()).models == ()
    (need,) = TrajectoryScoreGrader(method="model").needs(make_task()).models
    with pytest.raises(ValueError, match="the config names none"):
        need.choose_model(None)
    judge = {"provider": "openai", "model": "m", "api_key": "none"}
    with pytest.raises(ValidationError, match="Write `method: model`, or leave the judge out"):
        TrajectoryScoreGrader.model_validate({"type": "trajectory_score", "judge": judge})
    assert json.loads(TrajectoryScoreGrader().model_dump_json())["method"] == "heuristic"
