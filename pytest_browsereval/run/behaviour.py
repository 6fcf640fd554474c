"""Changes that plug-ins make to attempts: the hooks that are asked, and what broke in them."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pytest_browsereval.agents.base import AgentContext, AgentEvaluator
from pytest_browsereval.browsers.base import Window
from pytest_browsereval.config.guard import GuardedCall
from pytest_browsereval.errors import PLUGIN_ERRORS, ErrorSource, Fault, describe_error, is_given_up
from pytest_browsereval.graders.grading import StandIn
from pytest_browsereval.model.messages import Message
from pytest_browsereval.model.progress import StepFollower
from pytest_browsereval.model.tasks import Task

ToolCallHook = Callable[..., object]
"""Asked with the tool's name, its arguments, the row, the window, the node id, and all of it for a guard."""


@dataclass
class Behaviour:
    """What plug-ins change about an attempt; None leaves a thing as it is."""

    modify_task: Callable[[Task], Task] | None = None
    prepare_window: Callable[..., list[Callable[[Window], Awaitable[object]]]] | None = None
    """Asked for what is awaited with a window before it goes to its start page."""
    window_opened: Callable[[Window, Task], object] | None = None
    create_agent: Callable[[AgentContext], AgentEvaluator | None] | None = None
    message: Callable[[str, Message], object] | None = None
    """Told of every message with the attempt's node id."""
    tool_call: ToolCallHook | None = None
    """Asked before every tool call; a reason refuses it."""
    follow: Callable[..., StepFollower | None] | None = None
    """Asked for what follows an attempt step by step."""
    grade: StandIn | None = None
    """Its answer, unless None, stands in for the grader's."""


def call_all(begins: Sequence[Callable[[Window], Awaitable[object]]]) -> Callable[[Window], Awaitable[None]]:
    """Return what calls each of several with a window, one after another."""

    async def begin(window: Window) -> None:
        for each in begins:
            await each(window)

    return begin


class CallGuard:
    """Asks the hook before each call of an attempt.

    Args:
        ask: the hook.
        node_id: of its item.
        about: what a guard gets beside the name and the arguments of a call.
    """

    def __init__(self, ask: ToolCallHook, node_id: str, *about: Any) -> None:
        self._ask = ask
        self._node_id = node_id
        self._about = about
        self.fault: Fault | None = None
        """What broke in the hook: an agent may have caught it, and its attempt is errored all the same."""

    async def __call__(self, name: str, arguments: Mapping[str, Any]) -> str | None:
        """Return why a call is refused; None lets it pass.

        Raises:
            Fault: the hook broke, now or at an earlier call.
        """
        if self.fault is None:
            try:
                return await self._reason(name, arguments)
            except Fault as fault:
                self.fault = fault
        raise self.fault

    async def _reason(self, name: str, arguments: Mapping[str, Any]) -> str | None:
        try:
            call = GuardedCall(name, dict(arguments), *self._about)
            reason = self._ask(name, call.arguments, call.task, call.window, self._node_id, call)
            if inspect.isawaitable(reason):
                reason = await reason
        except Fault:
            raise
        except PLUGIN_ERRORS as error:
            if is_given_up(error):
                raise
            raise _hook_fault("pytest_browsereval_tool_call", error) from error
        if reason is None or (isinstance(reason, str) and reason.strip()):
            return reason
        why = f"pytest_browsereval_tool_call returned {reason!r:.80}. Return a reason as a text, or None"
        raise Fault(ErrorSource.HARNESS, why)


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


def _hook_fault(hook: str, error: BaseException) -> Fault:
    return Fault(ErrorSource.HARNESS, f"{hook} raised {describe_error(error)}")
