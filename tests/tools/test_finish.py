from __future__ import annotations

import asyncio

import pytest

from pytest_browsereval.tools.finish import give_up
from tests.support import Visits

pytestmark = pytest.mark.quick


def test_done_ends_the_task_with_its_answer(visit: Visits) -> None:
    """It is recorded, takes no picture and is no step."""
    opened = visit(screenshots="after")
    assert opened.output("done", answer="42 €") == "The task is over."
    assert (opened.tools.is_done, opened.tools.answer) == (True, "42 €")
    assert (opened.capture.steps, opened.capture.screenshot.count) == (0, 0)
    assert [message.type for message in opened.capture.messages.messages] == ["tool_call", "tool_result"]


def test_done_can_be_called_while_a_dialog_is_open(visit: Visits) -> None:
    """An agent may give up in front of a dialog."""
    opened = visit("<button onclick='alert(1)'>go</button>")
    opened.output("click", target="button")
    assert opened.output("done", answer="") == "The task is over."


def test_only_executors_can_give_up(visit: Visits) -> None:
    """It ends a part of the attempt with its reason, and is no tool of the attempt itself."""
    opened = visit()
    assert opened.refusal("give_up", reason="no").startswith("unknown tool 'give_up'.")
    assert (opened.capture.steps, opened.tools.is_done) == (1, False)
    part = opened.tools.nest(opened.capture.nest("part"), more=(give_up,))
    asyncio.run(part.call("give_up", {"reason": "There is a login."}))
    assert (part.is_done, part.gave_up, part.answer) == (True, "There is a login.", None)
    assert (opened.capture.steps, opened.tools.is_done) == (1, False)
