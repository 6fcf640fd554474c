"""Shipped helpers for tests of evals, agents, browsers, toolkits and tools."""

from pytest_browsereval.testing.agents import AgentConformance
from pytest_browsereval.testing.browsers import BrowserConformance
from pytest_browsereval.testing.calling import call_problems, check_calls, open_window
from pytest_browsereval.testing.evals import EvalDriver, EvalRun
from pytest_browsereval.testing.model_server import ModelRequest, ScriptedModel
from pytest_browsereval.testing.replies import (
    Call,
    Reply,
    call,
    calls,
    done,
    refuses,
    says,
    sends,
)
from pytest_browsereval.testing.toolkits import check_toolkit, toolkit_problems
from pytest_browsereval.testing.tools import check_tool, tool_problems

__all__ = [
    "AgentConformance",
    "BrowserConformance",
    "Call",
    "EvalDriver",
    "EvalRun",
    "ModelRequest",
    "Reply",
    "ScriptedModel",
    "call",
    "call_problems",
    "calls",
    "check_calls",
    "check_tool",
    "check_toolkit",
    "done",
    "open_window",
    "refuses",
    "says",
    "sends",
    "tool_problems",
    "toolkit_problems",
]
