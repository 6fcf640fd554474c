"""Finishing: the tool that ends an attempt."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from pytest_browsereval.browsers.base import Window
from pytest_browsereval.tools.base import Tool, tool


@tool(takes_picture=False)
async def done(
    window: Window,
    answer: Annotated[str, Field(max_length=100_000, description="The answer, or what was done.")],
) -> str:
    """End the task. Call it once, when the task is done or cannot be done."""
    del window, answer
    return "The task is over."


TOOLS: tuple[Tool, ...] = (done,)
