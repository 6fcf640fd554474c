"""A synchronous callable in a thread of its own, so that it holds up no other attempt."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import threading
from collections.abc import Callable
from typing import TypeVar

from pytest_browsereval.agents.base import AgentContext
from pytest_browsereval.features.shared.tool_loop.sync_context import AttemptOver, Bridge, SyncAgentContext

ResultT = TypeVar("ResultT")


async def run_in_thread(function: Callable[[SyncAgentContext], ResultT], context: AgentContext) -> ResultT:
    """Run a synchronous callable in a daemon thread of its own and return its result.

    When this is cancelled, the callable's next use of the context ends it; Python cannot end a thread
    from outside.
    """
    loop = asyncio.get_running_loop()
    bridge = Bridge(loop)
    outcome: asyncio.Future[ResultT] = loop.create_future()

    def deliver(result: ResultT | None, error: BaseException | None) -> None:
        # The attempt was given up meanwhile: a future takes one outcome only.
        if outcome.done():
            return
        if error is not None:
            outcome.set_exception(error)
        else:
            outcome.set_result(result)  # type: ignore[arg-type]

    def work() -> None:
        result: ResultT | None = None
        failure: BaseException | None = None
        try:
            result = function(SyncAgentContext(context, bridge))
        except AttemptOver:
            return
        except (StopIteration, asyncio.CancelledError) as error:
            # A future would take these for its own.
            failure = RuntimeError(repr(error)).with_traceback(error.__traceback__)
        except BaseException as error:  # noqa: BLE001 what ends the thread is the callable's doing
            failure = error
        with contextlib.suppress(RuntimeError):  # the loop has gone, and nobody waits
            loop.call_soon_threadsafe(deliver, result, failure)

    name = f"browsereval-agent-{context.window_id}"
    own = contextvars.copy_context()  # which says whose output it is
    threading.Thread(target=own.run, args=(work,), name=name, daemon=True).start()
    try:
        return await outcome
    finally:
        # No matter what ended the wait: the thread must not touch the page any more.
        bridge.close()
