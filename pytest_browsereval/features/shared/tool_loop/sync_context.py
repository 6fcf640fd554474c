"""Lets a synchronous callable, in a thread of its own, use what lives on the loop."""

from __future__ import annotations

import asyncio
import concurrent.futures
import threading
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from pytest_browsereval.agents.base import AgentContext
from pytest_browsereval.errors import ErrorSource
from pytest_browsereval.model.usage import Usage
from pytest_browsereval.tools.base import ToolResult
from pytest_browsereval.tools.toolbox import Toolbox

ResultT = TypeVar("ResultT")


class AttemptOver(BaseException):
    """Raised in an agent's thread once its attempt is over.

    No ``Exception``, so that a callable that goes on after every error does not go on for ever.
    """


class Bridge:
    """Submits work to a loop from another thread and waits for it, until the attempt is over."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._lock = threading.Lock()
        self._pending: set[concurrent.futures.Future[Any]] = set()
        self._is_over = False

    def wait(self, work: Coroutine[Any, Any, ResultT]) -> ResultT:
        """Run the work on the loop and return its result.

        Raises:
            AttemptOver: the attempt has ended.
        """
        with self._lock:
            if self._is_over:
                # Else Python warns of a coroutine that nobody awaited.
                work.close()
                raise AttemptOver
            future = asyncio.run_coroutine_threadsafe(work, self._loop)
            self._pending.add(future)
        try:
            return future.result()
        except concurrent.futures.CancelledError:
            raise AttemptOver from None
        finally:
            self._pending.discard(future)

    def close(self) -> None:
        """End all waits; later ones end at once."""
        with self._lock:
            self._is_over = True
            pending = list(self._pending)
        for future in pending:
            future.cancel()


class SyncToolbox:
    """The attempt's tools, for synchronous code."""

    def __init__(self, toolbox: Toolbox, bridge: Bridge) -> None:
        self._toolbox = toolbox
        self._bridge = bridge
        self.tools = toolbox.tools
        """The tools that are switched on."""

    @property
    def is_done(self) -> bool:
        """True once ``done`` was called."""
        return self._toolbox.is_done

    @property
    def answer(self) -> str | None:
        """What ``done`` was called with."""
        return self._toolbox.answer

    def call(self, name: str, arguments: dict[str, Any] | None = None, **more: object) -> ToolResult:
        """Run a tool by its name and record the call; see ``Toolbox.call``.

        Raises:
            LimitReached: the attempt has used its steps; let it through.
            Fault: the window has died; let it through.
        """
        return self._bridge.wait(self._toolbox.call(name, arguments, **more))


class SyncAgentContext:
    """What a synchronous callable gets instead of the :class:`AgentContext`: the same, without ``await``."""

    def __init__(self, context: AgentContext, bridge: Bridge) -> None:
        self._context = context
        self._bridge = bridge
        self.tools = SyncToolbox(context.tools, bridge)
        """The tools that are switched on; calls through it are recorded, counted and limited."""
        self.config = context.config
        """The agent's own block."""
        self.task = context.task
        """The row; its ``start_url`` is absolute."""
        self.max_steps, self.timeout_s = context.max_steps, context.timeout_s
        """The attempt's limits."""
        self.window_id = context.window_id
        """The window's number."""
        self.output_dir = context.output_dir
        """The run's folder."""
        self.task_output_dir = context.task_output_dir
        """The attempt's folder."""
        self.base_dir = context.base_dir
        """The folder of the eval config."""
        self.files = context.files
        """Where the files of the row are, by the names that it gives them."""

    @property
    def url(self) -> str:
        """The address of the current tab."""
        return self._context.window.url

    @property
    def tab_id(self) -> int:
        """The current tab's number."""
        return self._context.tab_id

    def log_assistant(
        self, content: str, *, usage: Usage | None = None, duration_ms: float | None = None
    ) -> None:
        """Record what a model said, with what it cost.

        Raises:
            LimitReached: the attempt's tokens or money are used up; let it through.
        """

        def record() -> None:
            capture = self._context.capture
            capture.log_assistant(content, usage=usage, duration_ms=duration_ms)
            if usage is not None:
                capture.spend(usage)

        self._on_loop(record)

    def add_warning(self, message: str) -> None:
        """Record something that a reader of the report should know of."""
        self._on_loop(lambda: self._context.capture.add_warning(ErrorSource.AGENT, message))

    def _on_loop(self, work: Callable[[], None]) -> None:
        async def run() -> None:
            work()

        self._bridge.wait(run())
