"""Finishing: the tool that ends an attempt."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from pytest_browsereval.browsers.base import Window
from pytest_browsereval.tools.base import Tool, tool
from pytest_browsereval.tools.toolkit import Toolkit


@tool(takes_picture=False, holds_value="answer")
async def done(
    window: Window,
    answer: Annotated[str, Field(max_length=100_000, description="The answer, or what was done.")],
) -> str:
    """End the task. Call it once, when the task is done or cannot be done."""
    del window, answer
    return "The task is over."


@tool(takes_picture=False, holds_value="reason")
async def give_up(
    window: Window,
    reason: Annotated[str, Field(max_length=100_000, description="What stands in the way; what was tried.")],
) -> str:
    """End a goal that cannot be reached, instead of done."""
    del window, reason
    return "The goal was given up."


TOOLS: tuple[Tool, ...] = (done,)
"""Those that every agent has; ``give_up`` is for executors."""

KIT = Toolkit("finish", "Ending with an answer", TOOLS, is_fixed=True, needs_page=False)
