"""Scripting: JavaScript in the page. Off by default, as it can do what no user could."""

from __future__ import annotations

import asyncio
import json
from typing import Annotated

from pydantic import Field

from pytest_browsereval.browsers.playwright.origins import shorten
from pytest_browsereval.browsers.playwright.windows import PlaywrightWindow
from pytest_browsereval.redaction.known import beginning
from pytest_browsereval.tools.base import Tool, ToolError, tool
from pytest_browsereval.tools.toolkit import Policy, Toolkit

MAX_LENGTH = 10_000
"""Characters of a result."""


@tool(sets_off="")
async def evaluate(
    window: PlaywrightWindow,
    expression: Annotated[
        str, Field(min_length=1, max_length=50_000, description="An expression, or a function: () => …")
    ],
) -> str:
    """Evaluate JavaScript in the page and return the result as JSON."""
    # Playwright sets no limit of its own to an evaluation: a loop would last for ever.
    limit_s = 2 * window.rules.action_s
    try:
        value = await asyncio.wait_for(window.page.evaluate(expression), limit_s)
    except TimeoutError:
        raise ToolError(f"The script did not end within {limit_s:g} s.") from None
    # Playwright turns dates and errors into objects of Python, which JSON does not know.
    text = json.dumps(value, ensure_ascii=False, default=lambda odd: shorten(str(odd)))
    if len(text) > MAX_LENGTH:
        shown = beginning(text, MAX_LENGTH)
        return f"{shown} [Cut after {len(shown)} of {len(text)} characters. Return less.]"
    return text


TOOLS: tuple[Tool, ...] = (evaluate,)

KIT = Toolkit(
    "scripting",
    "JavaScript in the page",
    TOOLS,
    default_on=False,
    policy=(
        Policy(
            "Use `evaluate` to read what no other tool shows. Do not change the page by it: the task is to "
            "be done as a user would do it.",
            ("evaluate",),
        ),
    ),
    absent="You cannot run JavaScript in the page.",
)
"""Its policy stands here, next to the tools."""
