"""Work after a call has returned: finishes its line in the log while later lines wait."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import ExitStack
from typing import Any

from pytest_browsereval.model.messages import Message


class Afterwards:
    """Keeps the messages of an attempt in their order while one of them is being finished.

    One at a time: whoever begins the next call waits for it first. A killed process loses the lines that
    wait, as it loses the picture that they wait for.

    Args:
        write: appends a message to the log.
    """

    def __init__(self, write: Callable[[Message], None]) -> None:
        self._write = write
        self._held: list[Message] | None = None
        self._task: asyncio.Task[None] | None = None

    def log(self, message: Message) -> None:
        """Write a message, or have it wait for the one that is being finished."""
        if self._held is None:
            self._write(message)
        else:
            self._held.append(message)

    async def begin(self, unfinished: Message, work: Callable[[], Coroutine[Any, Any, Message]]) -> None:
        """Let a message be finished by work that goes on by itself.

        Args:
            unfinished: is written if there is no time for the work.
            work: returns the message as it is to be written.
        """
        try:
            await self.settle()
        except BaseException:
            self.log(unfinished)
            raise
        self._held = [unfinished]
        self._task = asyncio.get_running_loop().create_task(self._finish(self._held, work))

    async def _finish(self, held: list[Message], work: Callable[[], Coroutine[Any, Any, Message]]) -> None:
        try:
            held[0] = await work()
        finally:
            self._release(held)

    def _release(self, held: list[Message]) -> None:
        if self._held is held:
            self._held = None
            with ExitStack() as stack:  # all of them, also if a listener breaks at one
                for message in reversed(held):
                    stack.callback(self._write, message)

    async def settle(self) -> None:
        """Wait until nothing goes on any more; raises what the work has raised."""
        while (task := self._task) is not None:
            try:
                await asyncio.shield(task)
            finally:
                if task.done() and self._task is task:
                    self._task = None

    def end(self) -> None:
        """Wait no longer: what is under way is cancelled, and every line written as it is."""
        if self._task is not None and self._held is not None:
            self._task.cancel()
            self._release(self._held)
