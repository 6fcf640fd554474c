"""Callables that are tried as agents."""

from __future__ import annotations

from typing import Any

BUTTON = {"target": "role=button"}


async def solve(context: Any) -> str:
    for _ in range(2):
        await context.tools.call("click", BUTTON)
    return "clicked"


def solve_in_a_thread(context: Any) -> str:
    for _ in range(2):
        context.tools.call("click", BUTTON)
    return "clicked"
