"""A task of five steps, before each of which a model thinks: MiniWoB pages by the example's policies.

Nothing here is of the plugin or of Playwright: every runner plays the same steps with hands of its own.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from typing import Protocol

STEPS = 5
THINKING_S = float(os.environ.get("THINKING_S", "1"))
"""How long a model takes to answer."""
COMPUTING_MS = float(os.environ.get("COMPUTING_MS", "0"))
"""CPU that the agent itself uses before each step."""

ACTIONS = {
    "choose-list": 2,
    "click-button": 1,
    "click-collapsible-nodelay": 2,
    "click-dialog-2": 1,
    "click-link": 1,
    "click-tab": 1,
    "click-test-2": 1,
    "click-widget": 1,
    "enter-date": 2,
    "enter-password": 3,
    "enter-text-2": 2,
    "enter-time": 2,
    "find-word": 2,
    "focus-text-2": 1,
    "login-user": 3,
    "read-table": 2,
    "simple-algebra": 2,
    "simple-arithmetic": 2,
}
"""Pages that take the same number of actions whatever the seed, at most five."""
Think = Callable[[], Awaitable[None]]


class Hands(Protocol):
    """What the example's policies act with, and a picture of the page as it is."""

    async def read(self, target: str) -> str: ...

    async def click(self, target: str) -> None: ...

    async def fill(self, target: str, text: str) -> None: ...

    async def select(self, target: str, value: str) -> None: ...

    async def look(self) -> None: ...


class ThinkingHands:
    """Hands before whose every action the model thinks; it has read the page by then."""

    def __init__(self, hands: Hands, think: Think) -> None:
        self._hands = hands
        self._think = think

    async def read(self, target: str) -> str:
        return await self._hands.read(target)

    async def click(self, target: str) -> None:
        await self._think()
        await self._hands.click(target)

    async def fill(self, target: str, text: str) -> None:
        await self._think()
        await self._hands.fill(target, text)

    async def select(self, target: str, value: str) -> None:
        await self._think()
        await self._hands.select(target, value)

    async def look(self) -> None:
        await self._think()
        await self._hands.look()


async def five_steps(page: str, hands: Hands, think: Think) -> None:
    """Solve a page in as many steps as every other: what is left of five before it only looks at the page."""
    from policies import play

    thinking = ThinkingHands(hands, think)
    for _ in range(STEPS - ACTIONS[page]):
        await thinking.look()
    await play(page, thinking)


def compute() -> None:
    """Use CPU, as an agent that parses pages itself does."""
    for _ in range(int(COMPUTING_MS)):
        sum(range(50_000))  # about a millisecond
