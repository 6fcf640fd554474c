"""Ours: an agent whose every action is a call of a tool, with its picture."""

from __future__ import annotations

import asyncio
import os
import random

import policies
from steps import THINKING_S, compute, five_steps

from pytest_browsereval import AgentContext

SCATTER = float(os.environ.get("THINKING_SCATTER", "0"))
"""By how much of itself an answer's time may be shorter or longer."""


class ToolHands(policies.ToolHands):
    """Hands that call tools."""

    async def look(self) -> None:
        """Take a picture."""
        await self._call("screenshot")


async def solve(context: AgentContext) -> str:
    """Take five steps."""
    drawn = random.Random(context.task.query_id)  # noqa: S311 the same times whoever plays the row

    async def think() -> None:
        compute()
        await asyncio.sleep(THINKING_S * drawn.uniform(1 - SCATTER, 1 + SCATTER))

    await five_steps(context.task.tags[0], ToolHands(context), think)
    return "I have done what the page asks."
