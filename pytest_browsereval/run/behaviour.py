"""Changes that plug-ins make to attempts: the hooks that are asked, and what broke in them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pytest_browsereval.agents.base import AgentContext, AgentEvaluator
from pytest_browsereval.browsers.base import Window
from pytest_browsereval.errors import PLUGIN_ERRORS, ErrorSource, Fault, describe_error
from pytest_browsereval.graders.grading import StandIn
from pytest_browsereval.model.messages import Message
from pytest_browsereval.model.progress import StepFollower
from pytest_browsereval.model.tasks import Task

ToolCallHook = Callable[[str, dict[str, Any], Task, Window, str], object]
"""Asked with the tool's name, its arguments, the row, the window and the node id."""


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


class CallGuard:
    """Asks the hook before each call of an attempt.

    Args:
        ask: the hook.
        task: the row, its placeholders filled in.
        window: the attempt's.
        node_id: of its item.
    """

    def __init__(self, ask: ToolCallHook, task: Task, window: Window, node_id: str) -> None:
        self._ask = ask
        self._task = task
        self._window = window
        self._node_id = node_id
        self.fault: Fault | None = None
        """What broke in the hook: an agent may have caught it, and its attempt is errored all the same."""

    def __call__(self, name: str, arguments: Mapping[str, Any]) -> str | None:
        """Return why a call is refused; None lets it pass.

        Raises:
            Fault: the hook broke, now or at an earlier call.
        """
        if self.fault is None:
            try:
                return self._reason(name, arguments)
            except Fault as fault:
                self.fault = fault
        raise self.fault

    def _reason(self, name: str, arguments: Mapping[str, Any]) -> str | None:
        try:
            reason = self._ask(name, dict(arguments), self._task, self._window, self._node_id)
        except Fault:
            raise
        except PLUGIN_ERRORS as error:  # the hook is no coroutine: nobody cancels it
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
