"""Lanes: one background event loop, K attempts at once. Knows nothing of pytest.

The loop runs in a daemon thread of our own: submitting never blocks the caller, stopping has a
deadline, and a loop that is stuck in blocking code can be left behind. (anyio's blocking portal
waits for the loop to answer and joins its thread with no deadline.)
"""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import os
import sys
import threading
import time
import traceback
import weakref
from collections.abc import AsyncIterator, Callable, Collection, Coroutine, Hashable
from concurrent.futures import CancelledError, Future
from contextvars import ContextVar
from pathlib import Path
from typing import Any, TypeVar

from pytest_browsereval.errors import ErrorSource
from pytest_browsereval.model.limits import current_limits, started_under

T = TypeVar("T")

_lane: ContextVar[Hashable] = ContextVar("lane", default=None)
_lane_of: weakref.WeakKeyDictionary[asyncio.Future[Any], Hashable] = weakref.WeakKeyDictionary()
"""Which attempt a task belongs to, those that an attempt starts included. (``Task.get_context`` would
tell, but Python 3.11 has no such method.)"""


def _create_tagged_task(loop: asyncio.AbstractEventLoop, work: Any, **options: Any) -> asyncio.Task[Any]:
    task: asyncio.Task[Any] = asyncio.Task(work, loop=loop, **options)
    context = options.get("context")
    if (lane := _lane.get() if context is None else context.get(_lane)) is not None:
        _lane_of[task] = lane
    if (limits := current_limits.get() if context is None else context.get(current_limits)) is not None:
        started_under[task] = limits
    return task


_LIBRARIES = (os.path.dirname(os.__file__), "<")  # noqa: PTH120 as tracebacks spell it

TICK_S = 0.1
"""How often a waiting caller looks around; Ctrl-C and alarms arrive between two ticks."""
_COUNTED_S = 2 * TICK_S
"""What one tick adds at most to the time that the loop is silent. A longer one says that the caller was
held up (by a plug-in, a busy machine, a process that was stopped for a while), and nothing of the loop."""


_PACKAGE = str(Path(__file__).parent.parent)
_OWNERS = {
    "agents/playing.py": ErrorSource.AGENT,
    "graders/grading.py": ErrorSource.GRADER,
    "run/attempt.py _observe": ErrorSource.GRADER,
    "run/behaviour.py": ErrorSource.HARNESS,
    "tools/runner.py": ErrorSource.TOOL,
}
"""Whose code runs below a module of ours, or below a function of it: that of the innermost one."""


class LoopLost(Exception):
    """The loop ended or is stuck.

    Args:
        message: for a reader of the report.
        culprit: the key of the attempt that blocks it, if known.
        source: whose code does.
    """

    def __init__(
        self, message: str, culprit: Hashable = None, source: ErrorSource = ErrorSource.HARNESS
    ) -> None:
        super().__init__(message)
        self.culprit = culprit
        self.source = source


class LoopThread:
    """An asyncio loop in a daemon thread; every call into it returns at once or has a deadline."""

    def __init__(self) -> None:
        self.error: BaseException | None = None
        self.is_lost = False
        self._ready: Future[asyncio.AbstractEventLoop] = Future()
        self._stopping: asyncio.Event
        self._thread = threading.Thread(target=self._run, name="browsereval-loop", daemon=True)
        self._thread.start()
        self.loop = self._ready.result(30)

    def _run(self) -> None:
        async def serve() -> None:
            self._stopping = asyncio.Event()
            loop = asyncio.get_running_loop()
            loop.set_task_factory(_create_tagged_task)
            stop = loop.stop

            def stop_unless_in_lane() -> None:
                if _lane.get() is not None:
                    raise RuntimeError("an attempt must not stop the event loop, which all attempts share")
                stop()

            loop.stop = stop_unless_in_lane  # type: ignore[method-assign]
            self._ready.set_result(loop)
            while not self._stopping.is_set():
                # An attempt may cancel all tasks that it finds: this one is nobody's but ours.
                with contextlib.suppress(asyncio.CancelledError):
                    await self._stopping.wait()

        try:
            with asyncio.Runner() as runner:  # its end cancels what is left and waits for its cleanup
                serving = runner.get_loop().create_task(serve())
                while not serving.done():
                    # A task of a plug-in's may raise one of these: who awaits the task gets it as well.
                    with contextlib.suppress(SystemExit, KeyboardInterrupt):
                        runner.get_loop().run_until_complete(serving)
        except BaseException as error:  # noqa: BLE001 reported by take()
            self.error = error

    @property
    def is_usable(self) -> bool:
        """False once the loop has ended or was given up."""
        return not self.is_lost and self._thread.is_alive()

    def give_up(self) -> None:
        """Use it no more; it ends by itself if its blocking code ever returns."""
        self.is_lost = True
        self.soon(self._stopping.set)

    def submit(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        """Start a coroutine; does not wait."""
        try:
            return asyncio.run_coroutine_threadsafe(work, self.loop)
        except RuntimeError:  # the loop has just ended: the waiter finds out
            future: Future[T] = Future()
            work.close()
            return future

    def soon(self, call: Callable[[], object]) -> None:
        """Have the loop call something; nothing happens when the loop has ended."""
        with contextlib.suppress(RuntimeError):
            self.loop.call_soon_threadsafe(call)

    def find_blocking(self) -> tuple[str, ErrorSource | None]:
        """Return the innermost frame that is not of a library, if possible, and whose code it is if known."""
        frame = sys._current_frames().get(self._thread.ident or 0)  # noqa: SLF001 the documented way
        frames = traceback.extract_stack(frame) if frame else []
        inner = [(f.filename.removeprefix(_PACKAGE + os.sep), f.name) for f in reversed(frames)]
        owners = (_OWNERS.get(file) or _OWNERS.get(f"{file} {name}") for file, name in inner)
        owner = next(filter(None, owners), None)
        own = [
            f for f in frames if not f.filename.startswith(_LIBRARIES) and "site-packages" not in f.filename
        ]
        if not frames:
            return "(no frame)", None
        innermost = (own or frames)[-1]
        return f"{innermost.filename}:{innermost.lineno}: {innermost.line}", owner

    def stop(self, grace_s: float) -> bool:
        """Cancel everything and end the thread; False if it did not end in time."""
        self.soon(self._stopping.set)
        self._thread.join(grace_s)
        return not self._thread.is_alive()


class Lanes:
    """Runs wanted attempts first in, first out, at most ``width`` at once.

    Args:
        width: how many run at once.
        stuck_s: after how many seconds without an answer the loop counts as stuck.
        may_start: asked before an attempt starts; False holds it back (see ``must`` of ``want``).
        on_lost: called after a loop was given up, so that what lived on it is forgotten.
    """

    def __init__(
        self,
        width: int,
        *,
        stuck_s: float = 10.0,
        may_start: Callable[[], bool] = lambda: True,
        on_lost: Callable[[], None] = lambda: None,
    ) -> None:
        self.width = width
        self.stuck_s = stuck_s
        self._may_start = may_start
        self._on_lost = on_lost
        self._wanted: dict[Hashable, Future[Any]] = {}
        self._unstarted: dict[Hashable, Coroutine[Any, Any, Any]] = {}
        self._running: weakref.WeakSet[asyncio.Task[Any]] = weakref.WeakSet()
        self._thread: LoopThread | None = None
        self._places = asyncio.Semaphore(width)
        self._groups: dict[str, asyncio.Lock] = {}
        self._wake = threading.Event()
        self.is_closed = False

    @property
    def thread(self) -> LoopThread:
        """The loop's thread; a new one when there is none or the old one was lost."""
        if self._thread is None or not self._thread.is_usable:
            self._thread = LoopThread()
            self._places = asyncio.Semaphore(self.width)
            self._groups = {}
        return self._thread

    def __contains__(self, key: Hashable) -> bool:
        """Whether the attempt was wanted and has not been taken."""
        return key in self._wanted

    def has_result(self, key: Hashable) -> bool:
        """Whether the attempt has ended by itself and has not been taken."""
        future = self._wanted.get(key)
        return future is not None and future.done() and not future.cancelled() and not future.exception()

    def has_results(self) -> bool:
        """Whether there is such an attempt."""
        return any(map(self.has_result, self._wanted))

    def want(
        self,
        key: Hashable,
        attempt: Callable[[], Coroutine[Any, Any, Any]],
        *,
        groups: Collection[str] = (),
        must: bool = False,
    ) -> None:
        """Queue an attempt, unless it is queued already.

        Args:
            key: what ``take`` asks for.
            attempt: makes the coroutine; called when a lane is free.
            groups: attempts that share one of these never run at the same time.
            must: start it even if ``may_start`` says no.
        """
        if self.is_closed or key in self._wanted:
            return
        thread = self.thread

        async def lane() -> Any:
            self._unstarted.pop(key, None)
            _lane.set(key)
            if (task := asyncio.current_task()) is not None:
                _lane_of[task] = key
                self._running.add(task)
            async with self._place(groups):
                if self.is_closed or thread.is_lost or not (must or self._may_start()):
                    raise asyncio.CancelledError
                try:
                    return await attempt()
                except (SystemExit, KeyboardInterrupt) as leaving:  # not pytest's: it is the attempt's own
                    raise RuntimeError(f"{leaving!r} in an attempt") from leaving

        work = lane()
        self._unstarted[key] = work
        self._wanted[key] = thread.submit(work)

    @contextlib.asynccontextmanager
    async def _place(self, groups: Collection[str]) -> AsyncIterator[None]:
        async with contextlib.AsyncExitStack() as stack:
            for group in sorted(set(groups)):  # in one order, so that no two wait for each other
                await stack.enter_async_context(self._groups.setdefault(group, asyncio.Lock()))
            await stack.enter_async_context(self._places)
            yield

    def take(self, key: Hashable, on_tick: Callable[[], None] = lambda: None) -> Any:
        """Wait for a wanted attempt and return what it returned.

        Args:
            key: which one.
            on_tick: called while waiting; may want more attempts, may raise to stop waiting.

        Raises:
            LoopLost: the loop ended or is stuck.
            CancelledError: the attempt was held back by ``may_start`` or cancelled.
        """
        future = self._wanted.pop(key)
        try:
            return self._wait(future, on_tick)
        except (LoopLost, CancelledError):
            raise
        except BaseException as error:  # Ctrl-C, a time-out plug-in: the attempt goes as well
            if isinstance(error, (KeyboardInterrupt, SystemExit)):
                self.is_closed = True  # else the lane that becomes free starts another one
            future.cancel()
            raise

    def wake(self) -> None:
        """Have a caller that waits look around now; called in any thread."""
        self._wake.set()

    def call(self, work: Coroutine[Any, Any, T], on_tick: Callable[[], None] = lambda: None) -> T:
        """Run a coroutine on the loop alongside the lanes and wait for it; interruptible."""
        future = self.thread.submit(work)
        try:
            return self._wait(future, on_tick)
        except BaseException:
            future.cancel()
            if inspect.getcoroutinestate(work) == inspect.CORO_CREATED:
                work.close()
            raise

    def _wait(self, future: Future[T], on_tick: Callable[[], None]) -> T:
        thread = self.thread
        silent_s, looked = 0.0, time.monotonic()

        def answer() -> None:
            nonlocal silent_s
            silent_s = 0.0

        future.add_done_callback(lambda _: self._wake.set())
        while True:
            if not future.done():
                self._wake.wait(TICK_S)
                self._wake.clear()
            if future.done():
                return future.result()
            on_tick()
            if not thread.is_usable:
                self._lose(thread)
                raise LoopLost(f"the event loop ended: {thread.error!r}")
            now = time.monotonic()
            silent_s, looked = silent_s + min(now - looked, _COUNTED_S), now
            thread.soon(answer)
            if silent_s > self.stuck_s:
                task = asyncio.current_task(thread.loop)  # whose step has never returned
                culprit = _lane_of.get(task) if task is not None else None
                where, source = thread.find_blocking()
                if source is None:  # in a task of its own, say, which an agent may have started
                    source = ErrorSource.AGENT if task in started_under else ErrorSource.HARNESS
                self._lose(thread)
                raise LoopLost(
                    f"blocking code has held the event loop for {self.stuck_s:g} s: {where}. Await it in a "
                    "thread (asyncio.to_thread), make the agent a plain function, which has a thread of its "
                    "own, or allow it more time with limits.stuck_s.",
                    culprit,
                    source,
                )

    def _lose(self, thread: LoopThread) -> None:
        thread.give_up()
        self._wanted.clear()
        self._drop_unstarted()
        self._on_lost()

    def _drop_unstarted(self) -> None:
        """Close coroutines that their loop never began, else Python warns of each."""
        while self._unstarted:
            self._unstarted.popitem()[1].close()

    def end(self, grace_s: float = 5.0, last: Callable[[], Coroutine[Any, Any, None]] | None = None) -> None:
        """Cancel all attempts and wait until they have ended or the time is over; none begins any more.

        Args:
            grace_s: how long they may take, in seconds.
            last: what runs on the loop after that.
        """
        self.is_closed = True
        while self._wanted:
            self._wanted.pop(next(iter(self._wanted))).cancel()
        if self._thread is None or not self._thread.is_usable:
            return

        async def end() -> None:
            await asyncio.sleep(0)
            if lanes := asyncio.all_tasks() & set(self._running):
                await asyncio.wait(lanes, timeout=grace_s)
            if last is not None:
                await last()

        ending = end()
        with contextlib.suppress(TimeoutError, CancelledError):
            self._thread.submit(ending).result(grace_s * 2)
        if inspect.getcoroutinestate(ending) == inspect.CORO_CREATED:
            ending.close()

    def close(
        self, grace_s: float = 5.0, last: Callable[[], Coroutine[Any, Any, None]] | None = None
    ) -> bool:
        """Do so and stop the loop; False if it did not stop in time."""
        self.end(grace_s, last)
        has_stopped = self._thread is None or not self._thread.is_usable or self._thread.stop(grace_s)
        self._drop_unstarted()
        return has_stopped
