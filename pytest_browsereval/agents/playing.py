"""Runs an agent's own code: what it raises, and what it returns that is not a result, is its fault."""

from __future__ import annotations

import asyncio
import inspect
import os
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from types import CodeType
from typing import Any

from pytest_browsereval.agents.base import AgentContext
from pytest_browsereval.deadline import GRACE_S, Overran, SelfCancelled, within
from pytest_browsereval.errors import (
    PLUGIN_ERRORS,
    ErrorSource,
    Fault,
    LimitReached,
    TerminationReason,
    UsageError,
    describe_error,
    is_given_up,
)
from pytest_browsereval.model.limits import Limits, current_limits, started_under
from pytest_browsereval.model.messages import AnyMessage
from pytest_browsereval.model.results import AgentResult

LATE = "; it did not end when it was cancelled, and is still running"

WENT_ON = "; it caught that and continued for {:.1f} s, so the page may have changed since"
STILL_RUNS = "; {} was still running {:.1f} s later, so the page may have changed since"
LONG_S = 0.5
"""Seconds in which an agent that catches a limit, or tasks that it has started, may tidy up."""
LEFT = "the agent has ended, but {} is still running: its effects may go unjudged. Await it, or cancel it."
SHORT_S = 0.1
"""Seconds in which tasks may end that an agent has cancelled at its end."""
_STANDARD = os.path.dirname(os.__file__)  # noqa: PTH120 as code spells it
_INNER = (str(Path(__file__).parent.parent) + os.sep, f"{os.sep}playwright{os.sep}_impl{os.sep}")
"""Where tasks come from that are not the agent's own: our package, and Playwright's connection."""

HOW_TO_RETURN = "Return AgentResult(final_answer), with the answer as a string or None"


async def play(
    context: AgentContext,
    build: Callable[[AgentContext], object],
    who: str,
    *,
    limit_s: float,
    time_limit: str,
    grace_s: float = GRACE_S,
) -> AgentResult:
    """Build an agent, execute it within its limits, and return its result.

    An agent that catches a limit and goes on is cancelled as one that is out of time. Tasks that it has
    started are left alone, and named.

    Args:
        context: of the attempt, or of a part of it.
        build: makes the evaluator.
        who: what a message calls it.
        limit_s: after how many seconds it is cancelled.
        time_limit: what a message says of that.
        grace_s: how long it may take to end then.

    Raises:
        Fault: something broke, be it the agent's own code.
        LimitReached: a limit has ended it, also where it caught that.
    """
    limits, loop = context.capture.limits, asyncio.get_running_loop()
    cut: asyncio.Future[None] = loop.create_future()
    # Cancelled as well, it counts as done: once is enough, and more often does no harm.
    limits.on_ignored = lambda: loop.call_soon_threadsafe(cut.cancel)
    is_late = LimitReached(TerminationReason.TIMEOUT, time_limit)
    result: AgentResult | None = None
    ending: Fault | LimitReached | None = None
    late, why_late, has_caught = "", None, False
    try:
        limits.end_after(limit_s, is_late)
        work = _play(context, build, who)
        result = await within(limit_s, work, grace_s=grace_s, at_limit=lambda: limits.reach(is_late), cut=cut)
    except Overran as overran:
        late, has_caught = LATE * overran.is_left_behind, overran.has_caught
        if isinstance(overran.raised, Fault) and isinstance(overran.raised.__cause__, asyncio.CancelledError):
            why_late = overran.raised  # raised of the cancellation itself
    except SelfCancelled as error:
        why = f"{who} was cancelled by its own code or by another agent in this process, not by a limit"
        ending = Fault(ErrorSource.AGENT, why)
        ending.__cause__ = error
    except (Fault, LimitReached) as error:
        ending = error
    finally:
        reached, went_on_s = limits.find(), limits.went_on_s
        limits.on_ignored = lambda: None
        limits.close()
    why_late = why_late or limits.why_late
    if reached is is_late and why_late is not None:
        raise why_late
    if reached is not None:
        for message in result.messages if result else ():
            context.capture.log(message)
        # Tools refuse what comes after a limit; a page that the agent drives itself does not.
        goes_on = has_caught or result is not None or isinstance(ending, Fault)
        if went_on_s < LONG_S or limits.acts_no_more or not goes_on:
            went_on_s = 0.0
        late = late or (WENT_ON.format(went_on_s) if went_on_s else "")
        still_runs, left_s = await _wait_for_left(limits)
        late, went_on_s = late or still_runs, went_on_s or left_s
        raise LimitReached(reached.reason, f"{reached}{late}", went_on_s=went_on_s) from ending
    if result is None:
        raise ending or Fault(ErrorSource.HARNESS, f"{who} ended without a result")
    await _warn_of_left(context)
    return result


async def _wait_for_left(limits: Limits) -> tuple[str, float]:
    """Return what of the agent's is still running long after the limit, for a message, and for how long."""
    left = await _find_left(limits, LONG_S - limits.went_on_s)
    went_on_s = limits.went_on_s if left else 0.0
    return STILL_RUNS.format(left, went_on_s) if left else "", went_on_s


async def _warn_of_left(context: AgentContext) -> None:
    if left := await _find_left(context.capture.limits, SHORT_S):
        context.capture.add_warning(ErrorSource.AGENT, LEFT.format(left))


async def _find_left(limits: Limits, wait_s: float) -> str:
    """Return which task of the agent's own code is still running after it; "" if none does within the time.

    Nobody else ends them: a shared connection of the agent's may be one, and serve later attempts.
    """
    if left := _list_left(limits):
        await asyncio.wait(left, timeout=max(wait_s, 0))
    for task, code in _list_left(limits).items():
        where = f"{os.path.basename(code.co_filename)}:{code.co_firstlineno}"  # noqa: PTH119 a name in a text
        return f"a task that it started ({where} {task.get_coro().__qualname__})"  # type: ignore[union-attr]
    return ""


def _list_left(limits: Limits) -> dict[asyncio.Task[Any], CodeType]:
    left: dict[asyncio.Task[Any], CodeType] = {}
    for task, owner in list(started_under.items()):
        if task.done() or limits not in (owner, owner.outermost) or not isinstance(task, asyncio.Task):
            continue
        code = getattr(task.get_coro(), "cr_code", None)
        if code is None or any(inner in code.co_filename for inner in _INNER):
            continue
        if not code.co_filename.startswith(_STANDARD) or "site-packages" in code.co_filename:
            left[task] = code
    return left


async def _play(context: AgentContext, build: Callable[[AgentContext], object], who: str) -> AgentResult:
    current_limits.set(context.capture.limits)  # of this task, and of those that it starts
    try:
        returned = await _begin(build(context), who)
        context.capture.limits.check_time()
    except (Fault, LimitReached):
        raise
    except UsageError as error:  # a key that has gone since the start, say
        raise Fault(ErrorSource.HARNESS, f"{who} cannot be used: {error}") from error
    except PLUGIN_ERRORS as error:
        if is_given_up(error):
            raise
        # No matter what the agent raised then, the browser that died under it is why.
        if context.window.dead:
            raise Fault(ErrorSource.BROWSER, context.window.dead) from error
        raise Fault(ErrorSource.AGENT, f"{who} raised {describe_error(error)}") from error
    return _checked(returned, who)


def _begin(evaluator: object, who: str) -> Awaitable[object]:
    """Return what ``execute`` of an agent returns, which can be awaited.

    Raises:
        Fault: it cannot.
    """
    execute = getattr(evaluator, "execute", None)
    if not callable(execute):
        what = f"{type(evaluator).__name__} has no `execute`"
        raise Fault(ErrorSource.AGENT, f"{who} was not built: {what}. `build` returns an AgentEvaluator.")
    work = execute()
    if not inspect.isawaitable(work):
        what = f"`execute` of {type(evaluator).__name__} is not async"
        raise Fault(
            ErrorSource.AGENT, f"{who} cannot be awaited: {what}. Write `async def execute(self): ...`"
        )
    return work


def _checked(returned: object, who: str) -> AgentResult:
    """Return the result with a termination reason of ours, once every field is what it has to be."""
    if not isinstance(returned, AgentResult):
        raise _wrong(who, f"returned {returned!r:.100}, which is not an AgentResult")
    answer, messages, reasons = returned.final_answer, returned.messages, list(TerminationReason)
    has_messages = isinstance(messages, tuple | list) and all(isinstance(one, AnyMessage) for one in messages)
    for name, is_right, wanted in (
        ("final_answer", answer is None or isinstance(answer, str), "is not a string"),
        ("note", isinstance(returned.note, str), "is not a string"),
        ("messages", has_messages, "are not a tuple of messages"),
        ("termination_reason", returned.termination_reason in reasons, f"is not one of {', '.join(reasons)}"),
    ):
        if not is_right:
            raise _wrong(who, f"returned the {name} {getattr(returned, name)!r:.100}, which {wanted}")
    return replace(
        returned,
        # A subclass of `str` may bring methods of its own into records and reports.
        final_answer=None if answer is None else str.__str__(answer),
        termination_reason=TerminationReason(returned.termination_reason),
        messages=tuple(messages),
        note=str.__str__(returned.note),
    )


def _wrong(who: str, what: str) -> Fault:
    return Fault(ErrorSource.AGENT, f"{who} {what}. {HOW_TO_RETURN}.")
