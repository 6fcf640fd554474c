"""Shipped helpers for tests of evals, agents and tools."""

from pytest_browsereval.testing.model_server import ModelRequest, ScriptedModel
from pytest_browsereval.testing.replies import Call, Reply, call, calls, done, refuses, says, sends
from pytest_browsereval.testing.tools import check_tool, tool_problems

__all__ = [
    "Call",
    "ModelRequest",
    "Reply",
    "ScriptedModel",
    "call",
    "calls",
    "check_tool",
    "done",
    "refuses",
    "says",
    "sends",
    "tool_problems",
]
