"""Agents that see pictures, as executors in a real page that knows the truth in pixels."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pytest_browsereval.browsers.playwright.browser import PlaywrightBrowser
from pytest_browsereval.model.messages import DelegationMessage, DelegationResultMessage, ToolCallMessage
from pytest_browsereval.testing import ModelRequest, Reply, ScriptedModel, call, calls, done
from tests.features.orchestrator.pair import LEAD, delegates, pair_config
from tests.features.pointing.seeing import BLUE, GREEN, decoded, picture_of, play, pointed, range_of
from tests.features.pointing.service import Service
from tests.support import PageServer, Run

COLOURS = {"green": GREEN, "blue": BLUE}


def answer(request: ModelRequest) -> Reply:
    """Play the one that leads, who sees nothing, or the one that hits what it is told to."""
    turn = sum(message["role"] == "assistant" for message in request.messages)
    if request.body["model"] == LEAD:
        assert "image_url" not in str(request.body), "the orchestrator is shown a picture"
        goals = [delegates("Hit the green one."), delegates("Hit the blue one."), delegates("Hit another.")]
        return goals[turn] if turn < len(goals) else done("both hit")
    colour = next((name for name in COLOURS if f"the {name} one" in request.text), None)
    if colour is None:
        return Reply(text="I see no target.")
    if turn:
        return calls(call("computer", action="done", text=f"{colour} is hit"))
    point = pointed(picture_of(request), COLOURS[colour], "normalized")
    return calls(call("computer", action="left_click", **point))


@pytest.mark.slow
def test_a_computer_use_agent_is_an_executor(
    run: Run, browser: PlaywrightBrowser, pages: PageServer, tmp_path: Path
) -> None:
    """Each begins with a picture of the page as the one before left it; one without an action is blocked."""
    with ScriptedModel(answer) as model, range_of(run, browser, pages, tmp_path, 1) as opened:
        base = {"base_url": model.base_url}
        config = pair_config(
            orchestrator={"model": LEAD, **base},
            executor={"type": "computer-use", "model": "hand", "coordinates": "normalized", **base},
        )
        result = play(opened, config, tmp_path)
        shots = opened.js("truth.shots")
        model.assert_finished()
    assert result.final_answer == "both hit"
    assert [shot["target"] for shot in shots] == ["green", "blue"]
    ends = opened.logged(DelegationResultMessage)
    assert [(end.status, end.steps_used) for end in ends] == [("done", 1), ("done", 1), ("blocked", 0)]
    assert ends[0].summary == "green is hit"
    assert "I see no target." in ends[2].summary
    clicks = [m.parent_id for m in opened.logged(ToolCallMessage) if m.tool == "click_at"]
    assert clicks == [m.executor_id for m in opened.logged(DelegationMessage)][:2]
    assert len(list((tmp_path / "executors").iterdir())) == 3


@pytest.mark.slow
def test_a_service_that_points_is_an_executor(
    run: Run, browser: PlaywrightBrowser, pages: PageServer, tmp_path: Path
) -> None:
    """It is posted the goal and a fresh history each time; out of predictions is not done."""

    def act(asked: dict[str, Any]) -> dict[str, Any]:
        colour = next((name for name in COLOURS if f"the {name} one" in asked["instruction"]), None)
        if colour is None:
            return {"action": "wait", "seconds": 0}
        if asked["history"]:
            return {"action": "end", "text": f"{colour} is hit"}
        picture = decoded(asked["image_base64"])
        return {"action": "click", **pointed(picture, COLOURS[colour], "normalized")}

    service = Service(act)
    try:
        with ScriptedModel(answer) as model, range_of(run, browser, pages, tmp_path, 1) as opened:
            config = pair_config(
                orchestrator={"model": LEAD, "base_url": model.base_url},
                executor={"type": "visual-action", "url": service.url, "max_predictions": 2},
            )
            result = play(opened, config, tmp_path)
            shots = opened.js("truth.shots")
            model.assert_finished()
    finally:
        service.close()
    assert result.final_answer == "both hit"
    assert [shot["target"] for shot in shots] == ["green", "blue"]
    assert [end.status for end in opened.logged(DelegationResultMessage)] == ["done", "done", "max_steps"]
    assert [len(asked["history"]) for asked in service.requests] == [0, 1, 0, 1, 0, 1]
