"""A synchronous callable in a thread of its own, so that it holds up no other attempt."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Callable
from concurrent.futures import CancelledError, Future
from typing import TypeVar

from pytest_browsereval.agents.base import AgentContext
from pytest_browsereval.features.shared.tool_loop.sync_context import AttemptOver, Bridge, SyncAgentContext

ResultT = TypeVar("ResultT")


async def run_in_thread(function: Callable[[SyncAgentContext], ResultT], context: AgentContext) -> ResultT:
    """Run a synchronous callable in a daemon thread of its own and return its result.

    When this is cancelled, the callable's next use of the context ends it; Python cannot end a thread
    from outside.
    """
    bridge = Bridge(asyncio.get_running_loop())
    outcome: Future[ResultT] = Future()
    outcome.set_running_or_notify_cancel()  # else it could not be set any more once nobody waits

    def work() -> None:
        try:
            outcome.set_result(function(SyncAgentContext(context, bridge)))
        except AttemptOver:
            return
        except (StopIteration, asyncio.CancelledError, CancelledError) as error:
            # A future would take these for its own.
            outcome.set_exception(RuntimeError(repr(error)).with_traceback(error.__traceback__))
        except BaseException as error:  # noqa: BLE001 what ends the thread is the callable's doing
            outcome.set_exception(error)

    name = f"browsereval-agent-{context.window_id}"
    own = contextvars.copy_context()  # which says whose output it is
    threading.Thread(target=own.run, args=(work,), name=name, daemon=True).start()
    try:
        return await asyncio.wrap_future(outcome)
    finally:
        # No matter what ended the wait: the thread must not touch the page any more.
        bridge.close()
