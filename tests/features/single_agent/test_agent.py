from __future__ import annotations

import asyncio
import base64
import json
from pathlib import Path
from typing import Any

import pytest

from pytest_browsereval.browsers.base import PictureFormat
from pytest_browsereval.door import builtin_registry
from pytest_browsereval.errors import ConfigError, Fault, StopRun
from pytest_browsereval.features.single_agent.agent import SingleConfig
from pytest_browsereval.llm.client import close_clients
from pytest_browsereval.model.messages import AssistantMessage, ToolCallMessage, ToolResultMessage
from pytest_browsereval.testing import Call, ScriptedModel, call, calls, done, refuses, says
from tests.agents.desk import PAPER_TOOLS, Desk, MakeDesk, PaperWindow, solve
from tests.support import until

CLICK = call("click", target="button Buy")


def texts(message: dict[str, Any]) -> str:
    content = message["content"]
    return content if isinstance(content, str) else json.dumps(content)


# -- the course of an attempt


def test_a_reply_without_a_call_is_the_answer(desk: Desk) -> None:
    """A model that just says it is taken at its word."""
    with ScriptedModel([calls(CLICK), says(" It costs $8. ")]) as model:
        assert solve(desk, model) == "It costs $8."


def test_the_model_is_told_what_it_needs(desk: Desk) -> None:
    """Start, viewport, task and page come first; the page is fenced, the task is not."""
    with ScriptedModel([done("x")]) as model:
        solve(desk, model, instructions="Answer in German.")
    system, opening = model.requests[0].messages
    assert (system["role"], opening["role"]) == ("system", "user")
    for told in ("starts at http://shop.test/.", "640 x 480 CSS pixels", "call done", "Answer in German."):
        assert told in system["content"]
    nonce = system["content"].partition("[page ")[2].partition("]")[0]
    assert len(nonce) == 16
    task, _, page = opening["content"].partition(f"[page {nonce}]")
    assert "Buy it." in task
    assert page == f"\nbutton Buy\n[end of page {nonce}]"
    assert model.requests[0].tool_names == [tool.name for tool in PAPER_TOOLS]


def test_without_the_snapshot_tool_the_page_is_named(make_desk: MakeDesk) -> None:
    """A config without that tool still tells where the model is; the title is fenced."""
    desk = make_desk(tools=[tool for tool in PAPER_TOOLS if tool.name != "snapshot"])
    with ScriptedModel([done("x")]) as model:
        solve(desk, model)
    opening = model.requests[0].last_text
    assert "]\nURL: http://shop.test/\nTitle: The shop\n[end of page" in opening


def test_calls_of_one_reply_run_one_after_another(desk: Desk) -> None:
    """Each call has its own result, in the order of the reply."""
    wanted = [CLICK, call("click", target="nothing"), call("snapshot")]
    with ScriptedModel([calls(*wanted), done("x")]) as model:
        solve(desk, model)
    results = model.requests[1].messages[-3:]
    assert [result["tool_call_id"] for result in results] == [each.id for each in wanted]
    assert [result["content"].partition("\n")[0] for result in results] == ["ok", "failed", "ok"]
    assert "clicked button Buy" in results[2]["content"]
    kinds = [
        m.type for m in desk.capture.messages.messages if isinstance(m, (ToolCallMessage, ToolResultMessage))
    ]
    assert kinds == ["tool_call", "tool_result"] * 4


def test_nothing_runs_after_done(desk: Desk) -> None:
    """Calls behind ``done`` in one reply are left alone."""
    with ScriptedModel([calls(call("done", answer="x"), CLICK)]) as model:
        assert solve(desk, model) == "x"
    assert desk.called == ["done"]


# -- what models do wrong


def test_a_model_that_never_names_a_readable_call_is_stopped(desk: Desk) -> None:
    """Ten such replies in a row are enough; one that can be read begins the count anew."""
    broken = calls(Call("click", "{oops"))
    with ScriptedModel([broken] * 9 + [calls(CLICK)] + [broken] * 10) as model:
        assert solve(desk, model) is None
        model.assert_finished()
    assert "10 replies in a row held no call" in desk.warned


def test_an_empty_reply_is_nudged_once(desk: Desk) -> None:
    """The model gets a second chance; after that there is no answer."""
    with ScriptedModel([says(""), calls(CLICK), says("  "), done("x")]) as model:
        assert solve(desk, model) == "x"
        assert "Your reply was empty" in model.requests[1].last_text
    with ScriptedModel([says(""), says("")]) as model:
        assert solve(desk, model) is None
    assert "ended twice with an empty reply" in desk.warned


def test_a_call_that_was_written_as_text_is_no_answer(desk: Desk) -> None:
    """A server may not read the model's own form of calls: the model is told once, and then has no answer."""
    for text in (
        '<tool_call>\n{"name": "click", "arguments": {"target": "7.25"}}\n</tool_call>',
        'I click it.\n```json\n{"tool": "click", "args": {"target": "7.25"}}\n```',
        '<invoke name="done"><parameter name="answer">7.25</parameter></invoke>',
        "Action: click[7.25]",
        'done(answer="7.25")',
        '[done(answer="7.25")]',
        'function<\uff5ctool▁sep\uff5c>done\n```json\n{"answer": "7.25"}\n```',
        '<|tool_call_begin|>functions.done:0<|tool_call_argument_begin|>{"answer": "7.25"}<|tool_call_end|>',
        '[TOOL_CALLS]done{"answer": "7.25"}',
        '<|channel|>commentary to=functions.done<|message|>{"answer": "7.25"}<|call|>',
        '<think><tool_call>{"name": "done", "arguments": {"answer": "7.25"}}</tool_call>',
    ):
        with ScriptedModel([says(text), done("x")]) as model:
            assert solve(desk, model) == "x", text
            assert "You wrote a call as text" in model.requests[1].last_text
        with ScriptedModel([says(text), says(text)]) as model:
            assert solve(desk, model) is None, text
        assert "ended twice with a call written as text" in desk.warned
    for text in ('{"name": "Desk lamp", "arguments": {}}', "It is done (finally).", '{"price": 7.25}'):
        with ScriptedModel([says(text)]) as model:
            assert solve(desk, model) == text


def test_a_reply_that_was_cut_off_is_no_answer(desk: Desk) -> None:
    """The model is told to be brief; the second time there is no answer, and of its calls none is made."""
    cut = says("The answer to your question is").because("length")
    with ScriptedModel([cut, done("x")]) as model:
        assert solve(desk, model) == "x"
        assert "too long" in model.requests[1].last_text
    with ScriptedModel([cut, cut]) as model:
        assert solve(desk, model) is None
    assert "cut-off reply" in desk.warned
    ending = calls(call("done", answer="The answer"), text="The answer").because("length")
    with ScriptedModel([ending] * 3) as model:
        assert solve(desk, model) is None
        model.assert_finished()


def test_done_that_never_works_ends_the_attempt(desk: Desk) -> None:
    """Wrong endings are no steps, so they have a limit of their own."""
    with ScriptedModel(lambda _: calls(call("done"), text="I give up")) as model:
        assert solve(desk, model) == "I give up"
    assert len(model.requests) == 3
    assert "wrong arguments" in desk.warned


# -- limits, faults, records


def test_what_the_model_says_is_recorded_with_its_cost(desk: Desk) -> None:
    """One message for each reply, with usage and duration, before the calls that it asks for."""
    with ScriptedModel([calls(CLICK, text="I buy.").costing(50, 5), says("Bought.").costing(70, 7)]) as model:
        solve(desk, model)
    log = desk.capture.messages.messages
    said = [m for m in log if isinstance(m, AssistantMessage)]
    assert [(m.content, m.usage.input_tokens if m.usage else None) for m in said] == [
        ("I buy.", 50),
        ("Bought.", 70),
    ]
    assert all(m.duration_ms for m in said)
    assert [m.type for m in log] == ["user", "assistant", "tool_call", "tool_result", "assistant"]
    assert (desk.capture.usage.input_tokens, desk.capture.usage.output_tokens) == (120, 12)


def test_a_broken_provider_or_browser_is_a_fault(desk: Desk) -> None:
    """The attempt is errored, never failed; what broke passes through the loop as it is."""
    for reply, kind in ((refuses(401), StopRun), (refuses(400), Fault), (refuses(503), Fault)):
        with ScriptedModel([reply] * 9) as model, pytest.raises(kind) as caught:
            solve(desk, model)
        assert caught.value.source == "provider"
    desk.window.dies_at = "button Buy"
    with ScriptedModel([calls(CLICK)]) as model, pytest.raises(Fault, match="the browser died"):
        solve(desk, model)


def test_an_attempt_can_be_cancelled(desk: Desk) -> None:
    """A time limit from outside ends the attempt while the model thinks."""

    async def course(config: SingleConfig) -> None:
        task = asyncio.ensure_future(config.build(desk.context(config)).execute())
        while not model.requests:  # noqa: ASYNC110 the server is a thread
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await close_clients()

    with ScriptedModel([done("x").after(60)]) as model:
        asyncio.run(course(SingleConfig(model="scripted", base_url=model.base_url)))


# -- what is sent stays bounded


def pictures(messages: list[dict[str, Any]]) -> list[bytes]:
    parts = [part for m in messages if isinstance(m["content"], list) for part in m["content"]]
    urls = [part["image_url"]["url"] for part in parts if part["type"] == "image_url"]
    return [base64.b64decode(url.partition(",")[2]) for url in urls]


def test_the_recorded_picture_is_what_the_model_sees(make_desk: MakeDesk) -> None:
    """After a turn that changed the page its recorded picture is sent, behind the results."""
    desk = make_desk(screenshots="after")
    with ScriptedModel([calls(CLICK, CLICK_AGAIN), calls(call("snapshot")), done("x")]) as model:
        solve(desk, model, supports_images=True, max_pictures=3)
        model.assert_finished()
    assert len(pictures(model.requests[0].messages)) == 1
    second = model.requests[1].messages
    assert [m["role"] for m in second[-3:]] == ["tool", "tool", "user"]
    assert pictures(second[-1:]) == [desk.capture.screenshot.path(2).read_bytes()]
    assert "data:image/jpeg;base64," in texts(second[-1])
    assert len(pictures(model.requests[2].messages)) == 2, "a snapshot does not draw the page anew"


class WaitingWindow(PaperWindow):
    """Draws a picture once the model has been asked again."""

    model: ScriptedModel

    async def screenshot(self, picture: PictureFormat = "jpeg", quality: int = 80) -> bytes:
        await until(lambda: len(self.model.requests) > 1 + self.pictures, 5)
        return await super().screenshot(picture, quality)


def test_a_model_that_sees_no_pictures_does_not_wait_for_them(make_desk: MakeDesk) -> None:
    """They are drawn while it thinks; the log has them where they belong, and its words after them."""
    window = WaitingWindow()
    desk = make_desk(screenshots="after", window=window)
    replies = [calls(CLICK), calls(CLICK_AGAIN), done("x")]
    with ScriptedModel(replies) as window.model:
        assert solve(desk, window.model) == "x"
    assert desk.capture.warnings == ()
    log = [m for m in desk.capture.messages.messages if m.type in ("tool_call", "tool_result", "assistant")]
    assert [m.type for m in log] == ["assistant", "tool_call", "tool_result"] * 3
    assert [m.screenshot for m in log if isinstance(m, ToolResultMessage)] == [1, 2, None]


CLICK_AGAIN = call("click", target="clicked button Buy")


@pytest.mark.parametrize("mode", ["off", "final"])
def test_the_model_sees_even_if_nothing_is_recorded(make_desk: MakeDesk, mode: str) -> None:
    """How an attempt is recorded does not change what the agent can see."""
    desk = make_desk(screenshots=mode)
    with ScriptedModel([calls(CLICK), done("x")]) as model:
        solve(desk, model, supports_images=True)
    assert len(pictures(model.requests[1].messages)) == 2
    assert desk.capture.screenshot.count == 0


# -- the config


def test_a_browseros_block_is_read() -> None:
    """Its name of the agent, its spellings, its fields, its default model."""
    registry = builtin_registry()
    assert registry.get("agent", "single") is registry.get("agent", "tool-loop") is SingleConfig
    block = {"type": "single", "provider": "openai", "apiKey": "OPENAI_API_KEY", "supportsImages": True}
    config = SingleConfig.model_validate(block)
    assert (config.supports_images, config.model_name) == (True, "gpt-4o")
    assert config.label() == "single openai/gpt-4o"


def test_a_missing_key_is_found_before_anything_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """The preflight says which variable to set."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(ConfigError, match="export OPENAI_API_KEY="):
        SingleConfig(provider="openai").preflight(Path())
    monkeypatch.setenv("OPENAI_API_KEY", "sk-0123456789")
    SingleConfig(provider="openai").preflight(Path())
