from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_browsereval.errors import ConfigError, ErrorSource, Fault, TerminationReason
from pytest_browsereval.features.pointing.computer_use import MAX_CALLS, ComputerUseAgent, ComputerUseConfig
from pytest_browsereval.llm.client import ChatClient
from pytest_browsereval.llm.retries import RetryPolicy
from pytest_browsereval.model.messages import ToolResultMessage
from pytest_browsereval.model.results import AgentResult
from pytest_browsereval.providers import PROVIDERS
from pytest_browsereval.testing import Call, Reply, ScriptedModel, call, calls, says
from pytest_browsereval.tools.finish import give_up
from tests.agents.desk import MakeDesk, PaperWindow
from tests.features.pointing.seeing import PaperDesk, no_wait, paper_tools, picture_of

Log = list[tuple[str, dict[str, Any]]]


def act(action: str, **fields: Any) -> Call:
    return call("computer", action=action, **fields)


CLICK = act("click", x=500, y=500)
DONE = calls(act("done", text="bought"))
CLICKED = ("click_at", {"x": 320, "y": 240})


class Paper(PaperDesk):
    """A desk on paper for the agent."""

    def solve(self, model: ScriptedModel, **fields: Any) -> AgentResult:
        """Run an attempt, retries without waiting."""
        config = ComputerUseConfig.model_validate({"model": "scripted", "base_url": model.base_url, **fields})
        client = ChatClient(config, RetryPolicy(max_tries=config.max_tries, sleep=no_wait))
        result = self.play(config, lambda desk: ComputerUseAgent(desk, config, client), client.close)
        assert model.problems == []
        return result


@pytest.fixture
def paper(make_desk: MakeDesk) -> Paper:
    return Paper(make_desk)


# -- the course of an attempt


def test_actions_are_performed_until_done(paper: Paper) -> None:
    """Each is a recorded call of a tool, with a picture; the answer is that of ``done``."""
    with ScriptedModel([calls(CLICK), calls(act("type", text="Ada", enter=True)), DONE]) as model:
        result = paper.solve(model)
        model.assert_finished()
    assert result == AgentResult("bought")
    assert paper.log == [CLICKED, ("type_keys", {"text": "Ada"}), ("press_key", {"key": "Enter"})]
    assert paper.desk.called == ["click_at", "type_keys", "press_key", "done"]
    assert paper.desk.capture.steps == 3
    results = [m for m in paper.desk.capture.messages.messages if isinstance(m, ToolResultMessage)]
    assert [m.screenshot for m in results] == [1, 2, 3, None]


def test_the_model_is_told_what_it_needs(paper: Paper) -> None:
    """The rules of its points, the task, the address as page text, a picture, and one flat function."""
    with ScriptedModel([DONE]) as model:
        paper.solve(model, instructions="Answer in German.")
    system, task, shown = model.requests[0].messages
    assert [m["role"] for m in (system, task, shown)] == ["system", "user", "user"]
    nonce = system["content"].partition("[page ")[2].partition("]")[0]
    assert len(nonce) == 16
    for told in ("from 0 at the left edge to 999", "action done", "never tells you", "Answer in German."):
        assert told in system["content"]
    assert "Buy it." in task["content"]
    text, picture = shown["content"]
    assert f"[page {nonce}]\nURL: http://shop.test/\n[end of page {nonce}]" in text["text"]
    assert picture["image_url"]["url"].startswith("data:image/jpeg;base64,/9j/")
    (tool,) = model.requests[0].body["tools"]
    schema = tool["function"]["parameters"]
    assert tool["function"]["name"] == "computer"
    assert schema["required"] == ["action"]
    assert {"type", "description"} == set(schema["properties"]["x"])
    types = {field["type"] for field in schema["properties"].values()}
    assert types <= {"string", "number", "boolean", "integer"}


def test_only_what_is_switched_on_is_offered(make_desk: MakeDesk) -> None:
    """An executor's way to give up too; what is not offered is refused with what is."""
    log: Log = []
    tools = [tool for tool in paper_tools(log) if tool.name not in ("navigate", "select_tab", "close_tab")]
    paper = Paper(make_desk, tools=[*tools, give_up])
    script = [calls(act("navigate", url="http://a.test")), calls(act("give_up", text="no way"))]
    with ScriptedModel(script) as model:
        assert paper.solve(model) == AgentResult(None)
    offered = model.requests[0].body["tools"][0]["function"]["parameters"]
    assert "give_up" in offered["properties"]["action"]["enum"]
    assert "navigate" not in offered["properties"]["action"]["enum"]
    assert not {"url", "tab"} & set(offered["properties"])
    assert "'navigate' cannot be done here. Actions: click," in model.requests[1].text
    assert log == []


def test_calls_of_one_reply_have_one_picture(paper: Paper) -> None:
    """They run in order, each with a result, and the picture after the last one is shown."""
    with ScriptedModel([calls(CLICK, act("press", key="Tab"), act("wait", seconds=0)), DONE]) as model:
        paper.solve(model)
    assert [name for name, _ in paper.log] == ["click_at", "press_key", "wait"]
    tail = model.requests[1].messages[-4:]
    assert [m["role"] for m in tail] == ["tool", "tool", "tool", "user"]
    assert all(m["content"].startswith("ok\n[page ") for m in tail[:3])
    assert picture_of(model.requests[1]).getpixel((4, 4)) != picture_of(model.requests[0]).getpixel((4, 4))


def test_a_page_that_cannot_be_drawn_is_told(make_desk: MakeDesk) -> None:
    """The model can still act without a picture: answer the dialog that is in the way, for example."""

    class Blind(PaperWindow):
        async def screenshot(self, picture: Any = "jpeg", quality: int = 80) -> bytes:
            del picture, quality
            raise Fault(ErrorSource.SCREENSHOT, "a dialog is open")

    paper = Paper(make_desk, window=Blind())
    with ScriptedModel([calls(act("handle_dialog", accept=True)), calls(CLICK), DONE]) as model:
        assert paper.solve(model).final_answer == "bought"
    assert "No picture of the page can be taken" in model.requests[0].last_text
    assert paper.log == [("handle_dialog", {"accept": True}), CLICKED]


def test_a_model_without_tool_calls_works_by_json(paper: Paper) -> None:
    """The client tells it the function as text."""
    script = [
        says(json.dumps({"tool": "computer", "arguments": {"action": "click", "x": 500, "y": 500}})),
        says(json.dumps({"tool": "computer", "arguments": {"action": "done", "text": "bought"}})),
    ]
    with ScriptedModel(script) as model:
        assert paper.solve(model, tool_calling="json_schema").final_answer == "bought"
    assert "tools" not in model.requests[0].body
    assert paper.log == [CLICKED]


# -- what models do wrong


WRONG = [
    calls(act("click", x=1000, y=5)),
    calls(Call("computer", '{"action": "click", "x": NaN, "y": 5}')),
    calls(Call("computer", '{"action": "cli')),
    calls(call("make_coffee", x=1)),
    says("I am not sure what to do."),
    says('I click. {"action": "click", "x": 500, "y": 500}'),
    says(""),
]


@pytest.mark.parametrize("wrong", WRONG)
def test_a_reply_without_a_valid_action_is_told(paper: Paper, wrong: Reply) -> None:
    """Nothing is done, the model reads what was wrong, and a later action starts the count again."""
    with ScriptedModel([wrong, wrong, calls(CLICK), wrong, wrong, DONE]) as model:
        assert paper.solve(model).final_answer == "bought"
        model.assert_finished()
    assert paper.log == [CLICKED]
    told = model.requests[1].text
    assert "failed\n" in told or "Your reply holds no action" in told
    assert len(told) < 40_000


@pytest.mark.parametrize("wrong", WRONG[:1] + WRONG[-3:])
def test_three_in_a_row_end_the_attempt(paper: Paper, wrong: Reply) -> None:
    """There is no answer then, and the warning says why."""
    with ScriptedModel(lambda _: wrong) as model:
        assert paper.solve(model) == AgentResult(None)
    assert len(model.requests) == 3
    assert "3 replies in a row without a valid action. For a model that writes" in paper.desk.warned


def test_forty_calls_at_once_are_not_all_performed(paper: Paper) -> None:
    """Their points are on a picture that grows old; each one still gets its answer."""
    wanted = [act("click", x=500, y=500) for _ in range(40)]
    with ScriptedModel([calls(*wanted), DONE]) as model:
        paper.solve(model)
    assert len(paper.log) == MAX_CALLS
    answers = [m["content"] for m in model.requests[1].messages if m["role"] == "tool"]
    assert len(answers) == 40
    assert answers[-1] == f"Not performed: only {MAX_CALLS} actions of a reply are."


def test_a_call_that_was_cut_off_is_no_action(paper: Paper) -> None:
    """The model goes on."""
    with ScriptedModel([calls(CLICK).because("MAX_TOKENS"), DONE]) as model:
        assert paper.solve(model) == AgentResult("bought")
        model.assert_finished()
    assert paper.log == []


# -- limits and faults


def test_turns_run_out(paper: Paper) -> None:
    """The attempt ends as one that used its steps, and says which limit it met."""
    with ScriptedModel(lambda _: calls(act("click", x=500, y=500))) as model:
        result = paper.solve(model, max_turns=4)
        note = "max_turns is 4; all were used"
        assert result == AgentResult(None, TerminationReason.MAX_STEPS, note=note)
    assert len(model.requests) == 4


# -- the config


def test_a_provider_without_pictures_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Before anything is spent, with what works."""
    blind = PROVIDERS["openai-compatible"].__class__("blind", "http://127.0.0.1:1/v1", has_images=False)
    monkeypatch.setitem(PROVIDERS, "blind", blind)
    with pytest.raises(ConfigError, match="take none"):
        ComputerUseConfig(provider="blind", model="m").preflight(tmp_path)
