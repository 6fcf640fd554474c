"""The tools of one attempt as a foreign program may use them: one call at a time, until it is over."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pytest_browsereval.capture.context import CaptureContext
from pytest_browsereval.errors import ErrorSource, Fault, LimitReached
from pytest_browsereval.features.shared.tool_loop.selection import policy_text
from pytest_browsereval.tools.base import Tool
from pytest_browsereval.tools.toolbox import Toolbox
from pytest_browsereval.tools.toolkit import Toolkit
from pytest_browsereval.tools.toolkits import vetoes

PICTURE_TOOL = "screenshot"
"""The tool whose answer is a picture as well as a text."""


@dataclass(frozen=True)
class Answer:
    """What a call came to."""

    ok: bool
    output: str
    picture: bytes | None = None
    media_type: str = "image/jpeg"


class SharedToolbox:
    """Takes calls for an attempt's toolbox from any number of connections.

    A call that was begun is finished and recorded even if its caller has gone; what ends the attempt
    (a limit, a dead window) is kept in ``ending`` for the agent to raise.

    Args:
        tools: the attempt's toolbox.
        capture: the attempt's recorder.
        kits: the toolkits of the run, which have policies and vetoes.
    """

    def __init__(self, tools: Toolbox, capture: CaptureContext, kits: Sequence[Toolkit] = ()) -> None:
        self._tools = tools
        self._capture = capture
        self._vetoed = vetoes(kits, [tool.name for tool in tools.tools])
        self.policy = policy_text(kits, [tool.name for tool in self.tools])
        """What a program reads about the tools, besides their descriptions."""
        self._turn = asyncio.Lock()
        self._context = contextvars.copy_context()
        self._running: set[asyncio.Task[Answer]] = set()
        self.is_closed = False
        """Whether its attempt is over."""
        self.was_asked = False
        """Whether a program has asked which tools there are, or has called one."""
        self.late_calls = 0
        """How many calls came after the task was over."""
        self.ending: Fault | LimitReached | None = None
        """What has ended the attempt in a call."""
        self.has_ended = asyncio.Event()
        """Set with ``ending``."""
        self.is_done = asyncio.Event()
        """Set once the finishing tool was called."""

    @property
    def tools(self) -> tuple[Tool, ...]:
        """The tools that are switched on and of use."""
        return tuple(tool for tool in self._tools.tools if tool.name not in self._vetoed)

    async def call(self, name: str, arguments: dict[str, Any]) -> Answer:
        """Run a tool after the calls that came before; never raises for what it did."""
        # The attempt's own context: a request would bring the one in which its connection was accepted.
        task = asyncio.get_running_loop().create_task(
            self._take_turn(name, arguments), context=self._context.copy()
        )
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        # A caller that hangs up cancels its request: what was begun in the page is recorded all the same.
        return await asyncio.shield(task)

    async def _take_turn(self, name: str, arguments: dict[str, Any]) -> Answer:
        self.was_asked = True
        async with self._turn:
            if self.ending is not None or self.is_closed:
                return Answer(ok=False, output=f"The attempt is over: {self.ending or 'it was stopped'}.")
            if self._tools.is_done:
                self.late_calls += 1
                return Answer(ok=False, output="The task is over: it was ended already. Call no more tools.")
            try:
                return await self._run(name, arguments)
            except (Fault, LimitReached) as error:
                self._end(error)
            except Exception as error:  # noqa: BLE001 what breaks in our own parts ends the attempt
                self._end(Fault(ErrorSource.HARNESS, f"{name} broke: {type(error).__name__}: {error}"))
            return Answer(ok=False, output=f"The attempt is over: {self.ending}.")

    def _end(self, error: Fault | LimitReached) -> None:
        self.ending = error
        self.has_ended.set()

    async def _run(self, name: str, arguments: dict[str, Any]) -> Answer:
        # Not listed, but programs call what they remember.
        if name in self._vetoed:
            why = f"{name} is not offered: {self._vetoed[name]}"
            refused = await self._tools.refuse(name, arguments, why)
            return Answer(refused.ok, refused.output)
        before = self._capture.screenshot.count
        result = await self._tools.call(name, arguments)
        if self._tools.is_done:
            self.is_done.set()
        picture = await self._picture(before) if name == PICTURE_TOOL and result.ok else None
        return Answer(result.ok, result.output, picture, f"image/{self._capture.config.picture}")

    async def _picture(self, before: int) -> bytes | None:
        """Return the picture that was recorded for the call, or one of its own where none was."""
        capture = self._capture
        try:
            await capture.settle()
            if capture.screenshot.count > before:
                return capture.screenshot.path(capture.screenshot.count).read_bytes()
            return await capture.window.screenshot(capture.config.picture, capture.config.quality)
        except (Fault, OSError) as error:
            capture.add_warning(ErrorSource.SCREENSHOT, f"no picture for the program: {error}")
            return None

    async def close(self) -> None:
        """Take no more calls, and cut off those that are running."""
        self.is_closed = True
        running = list(self._running)
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
