"""Changes that plug-ins make to attempts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pytest_browsereval.agents.base import AgentContext, AgentEvaluator
from pytest_browsereval.browsers.base import Window
from pytest_browsereval.graders.grading import StandIn
from pytest_browsereval.model.messages import Message
from pytest_browsereval.model.tasks import Task
from pytest_browsereval.run.guard import ToolCallHook


@dataclass
class Behaviour:
    """What plug-ins change about an attempt; None leaves a thing as it is."""

    modify_task: Callable[[Task], Task] | None = None
    window_opened: Callable[[Window, Task], object] | None = None
    create_agent: Callable[[AgentContext], AgentEvaluator | None] | None = None
    message: Callable[[str, Message], object] | None = None
    """Told of every message with the attempt's node id."""
    tool_call: ToolCallHook | None = None
    """Asked before every tool call; a reason refuses it."""
    grade: StandIn | None = None
    """Its answer, unless None, stands in for the grader's."""
