from __future__ import annotations

from typing import Any

import pytest

from pytest_browsereval.features.single_agent.agent import SingleConfig
from pytest_browsereval.testing import ModelRequest, ScriptedModel, done, says
from tests.agents.desk import TOOLS_BY_NAME, Desk, solve

YES = {
    "task": "Press Yes.",
    "page": "button Yes\nbutton No",
    "tool": "click",
    "arguments": {"target": "button Yes"},
}


def config(**fields: Any) -> SingleConfig:
    return SingleConfig.model_validate({"model": "scripted", "base_url": "http://127.0.0.1:9/v1", **fields})


def first_request(desk: Desk, **fields: Any) -> ModelRequest:
    reply = (
        says('{"tool": "done", "arguments": {"answer": "x"}}') if fields.get("tool_calling") else done("x")
    )
    with ScriptedModel([reply]) as model:
        solve(desk, model, **fields)
        model.assert_finished()
    return model.requests[0]


def test_examples_are_shown_as_turns_before_the_task(desk: Desk) -> None:
    """Task and page, the call, its result; the page is fenced as every page is. Nothing is run or counted."""
    _, task, called, result, own = first_request(desk, examples=[YES]).messages
    assert task["content"].startswith("The task:\nPress Yes.\n\nThe page at the start:\n[page ")
    assert "\nbutton Yes\nbutton No\n[end of page " in task["content"]
    assert called["tool_calls"][0]["function"] == {"name": "click", "arguments": '{"target": "button Yes"}'}
    assert (result["role"], result["content"]) == ("tool", "ok")
    assert own["content"].startswith("The task:\nBuy it.\n\nThe page at the start:\n[page ")
    assert (desk.called, desk.capture.steps) == (["done"], 0)


def test_examples_are_texts_where_calls_are(desk: Desk) -> None:
    """A model without native tool calling sees the very text that it is to write."""
    _, _, called, own = first_request(desk, examples=[YES], tool_calling="json_schema").messages
    assert called["content"] == '{"tool": "click", "arguments": {"target": "button Yes"}}'
    assert own["content"].startswith("Result of click: ok\n\nThe task:\nBuy it.")


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        (
            {"tool": "clik"},
            "agent.examples[2]: tool is 'clik', which is not switched on. Did you mean 'click'?",
        ),
        ({"arguments": {"ref": "e1"}}, "agent.examples[2]: wrong arguments for click: "),
    ],
)
def test_an_example_that_cannot_be_called_is_refused(wrong: dict[str, Any], told: str) -> None:
    """Before anything is spent: tools that are off and arguments that they refuse."""
    block = config(examples=[YES, {**YES, **wrong}])
    with pytest.raises(ValueError, match=r"agent\.examples") as caught:
        block.check_tools(TOOLS_BY_NAME, ())
    assert told in str(caught.value)


def test_attempts_begin_with_the_same_words(desk: Desk) -> None:
    """What is of one attempt only, its fences and its start, stands last in the system text."""
    system = first_request(desk, instructions="Answer in German.").messages[0]["content"]
    head, _, tail = system.partition("Answer in German.")
    assert "You work in a web browser" in head
    assert "[page " not in head
    assert "http://shop.test/" not in head
    assert "[page " in tail
    assert "The task starts at http://shop.test/." in tail
