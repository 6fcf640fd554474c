"""Changes that plug-ins make to attempts: the hooks that are asked, and what broke in them."""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace
from typing import Any, NoReturn

from pytest_browsereval.agents.base import AgentContext, AgentEvaluator
from pytest_browsereval.browsers.base import Window
from pytest_browsereval.capture.recording import WindowRecording
from pytest_browsereval.config.guard import GuardedCall
from pytest_browsereval.contracts import describe_place
from pytest_browsereval.deadline import Overran, within
from pytest_browsereval.errors import PLUGIN_ERRORS, ErrorSource, Fault, describe_error, is_given_up
from pytest_browsereval.graders.grading import StandIn
from pytest_browsereval.model.messages import Message
from pytest_browsereval.model.probe import Probe
from pytest_browsereval.model.progress import Progress, StepFollower
from pytest_browsereval.model.tasks import Task
from pytest_browsereval.tools.base import SetsOff

ToolCallHook = Callable[..., object]
"""Asked with the tool's name, its arguments, the row, the window, the node id, and all of it for a guard."""


ANSWER_TIMEOUT_S = 300.0
"""How long hook and guards may take over one call."""
HOOK_TIMEOUT_S = 60.0
"""How long what another hook has returned may be awaited, once."""
_TOOL_CALL = "pytest_browsereval_tool_call"
_GRACE_S = 0.5
_BLOCKED_S, _ROUNDS = 0.05, 10
"""A hook that took longer may have blocked the loop, which then gets some rounds to end the attempt."""


@dataclass
class Behaviour:
    """What plug-ins change about an attempt; None leaves a thing as it is."""

    modify_task: Callable[[Task], Task] | None = None
    record_window: Callable[..., AbstractAsyncContextManager[WindowRecording] | None] | None = None
    prepare_window: Callable[..., list[Callable[[Window], Awaitable[object]]]] | None = None
    """Asked for what is awaited with a window before it goes to its start page."""
    window_opened: Callable[[Window, Task], object] | None = None
    watch_agent: Callable[..., list[AbstractAsyncContextManager[object]]] | None = None
    """Asked for what is entered before the agent begins, and left when it has ended."""
    create_agent: Callable[[AgentContext], AgentEvaluator | None] | None = None
    message: Callable[[str, Message], object] | None = None
    """Told of every message with the attempt's node id."""
    tool_call: ToolCallHook | None = None
    """Asked before every tool call; a reason refuses it."""
    follow: Callable[..., StepFollower | None] | None = None
    """Asked for what follows an attempt step by step."""
    grade: StandIn | None = None
    """Its answer, unless None, stands in for the grader's."""
    review: Callable[..., Awaitable[Probe | None] | None] | None = None
    """Asked for what is awaited once an attempt has failed, before it is recorded."""


def call_all(begins: Sequence[Callable[[Window], Awaitable[object]]]) -> Callable[[Window], Awaitable[None]]:
    """Return what calls each of several with a window, one after another, and none for ever."""

    async def begin(window: Window) -> None:
        for each in begins:
            hook = f"what pytest_browsereval_prepare_window returned{describe_place(each)}"
            await _await_hook(lambda each=each: each(window), hook)  # type: ignore[misc]

    return begin


async def _await_hook(call: Callable[[], Awaitable[object]], hook: str) -> None:
    async def wait() -> None:
        try:
            await call()
        except PLUGIN_ERRORS as error:
            _raise_plainly(hook, error)

    try:
        await within(HOOK_TIMEOUT_S, wait(), grace_s=_GRACE_S)
    except Overran as late:
        raise Fault(ErrorSource.HARNESS, f"{hook} took more than {HOOK_TIMEOUT_S:g} seconds") from late


class HookFollower:
    """Follows an attempt by what a hook has returned, which may not take for ever."""

    def __init__(self, inner: StepFollower) -> None:
        self._inner = inner
        self._late: Fault | None = None

    @property
    def fault(self) -> Fault | None:
        """What broke of it, or that it took too long."""
        return self._late or self._inner.fault

    async def ask(self, step: int, *, is_end: bool = False) -> None:
        """Have it look at the page, unless it took too long before."""
        if self._late is None:
            place = describe_place(self._inner.ask)
            hook = f"`ask` of what pytest_browsereval_follow_attempt returned{place}"
            try:
                await _await_hook(lambda: self._inner.ask(step, is_end=is_end), hook)
            except Fault as late:
                self._late = late

    def finish(self) -> Progress | None:
        """Return what it has found."""
        return self._inner.finish()


class CallGuard:
    """Asks the hook before each call of an attempt.

    Args:
        ask: the hook.
        node_id: of its item.
        about: what a guard gets in addition to the name and the arguments of a call.
    """

    def __init__(self, ask: ToolCallHook, node_id: str, *about: Any) -> None:
        self._ask = ask
        self._node_id = node_id
        self._about = about
        self.fault: Fault | None = None
        """What broke in the hook: an agent may have caught it, and its attempt is errored all the same."""

    async def __call__(self, name: str, arguments: Mapping[str, Any], sets_off: SetsOff = "") -> str | None:
        """Return why a call is refused; None lets it pass.

        Raises:
            Fault: the hook broke, now or at an earlier call.
        """
        if self.fault is None:
            try:
                call = GuardedCall(name, dict(arguments), *self._about)
                return await self._reason(replace(call, sets_off=sets_off))
            except Fault as fault:
                self.fault = fault
        raise self.fault

    async def _reason(self, call: GuardedCall) -> str | None:
        try:
            reason = self._ask(call.tool, call.arguments, call.task, call.window, self._node_id, call)
        except PLUGIN_ERRORS as error:
            _raise_plainly(_TOOL_CALL, error)
        if inspect.isawaitable(reason):
            call.asked.append(_TOOL_CALL + describe_place(reason))
            reason = await self._wait_for(reason, call)
        if reason is None or (isinstance(reason, str) and reason.strip()):
            return reason
        why = f"{_TOOL_CALL} returned {reason!r:.80}. Return a reason as a string, or None"
        raise Fault(ErrorSource.HARNESS, why)

    async def _wait_for(self, answer: Awaitable[object], call: GuardedCall) -> object:
        about = f"about a call to {call.tool}"
        try:
            # In a task of its own: a hook that will not be cancelled is left behind, and named.
            return await within(ANSWER_TIMEOUT_S, _take(answer), grace_s=0)
        except Overran as late:
            why = f"{call.asked[-1]} took more than {ANSWER_TIMEOUT_S:g} seconds {about}"
            raise Fault(ErrorSource.HARNESS, why) from late
        except asyncio.CancelledError as error:
            # No failure of the agent's: without an answer nobody knows what it would have done.
            why = f"{call.asked[-1]} was still being asked {about} when the time was over"
            raise Fault(ErrorSource.HARNESS, why) from error


async def _take(answer: Awaitable[object]) -> object:
    started = time.monotonic()
    try:
        reason = await answer
    except PLUGIN_ERRORS as error:
        _raise_plainly(_TOOL_CALL, error)
    if time.monotonic() - started > _BLOCKED_S:
        for _ in range(_ROUNDS):
            await asyncio.sleep(0)
    return reason


class MessageListener:
    """Tells the hook of each message of an attempt.

    Args:
        tell: the hook, called with the node id and the message.
        node_id: of its item.
    """

    def __init__(self, tell: Callable[[str, Message], object], node_id: str) -> None:
        self._tell = tell
        self._node_id = node_id
        self.fault: Fault | None = None
        """What broke in the hook first; as above."""

    def __call__(self, message: Message) -> None:
        """Tell of a message.

        Raises:
            Fault: the hook broke.
        """
        try:
            self._tell(self._node_id, message)
        except PLUGIN_ERRORS as error:
            fault = error if isinstance(error, Fault) else _hook_fault("pytest_browsereval_message", error)
            self.fault = self.fault or fault
            if fault is error:
                raise
            raise fault from error


def _raise_plainly(hook: str, error: BaseException) -> NoReturn:
    """Raise what a hook raised, and name the hook unless it says what broke."""
    if isinstance(error, Fault) or is_given_up(error):
        raise error
    raise _hook_fault(hook, error) from error


def _hook_fault(hook: str, error: BaseException) -> Fault:
    return Fault(ErrorSource.HARNESS, f"{hook} raised {describe_error(error)}")
