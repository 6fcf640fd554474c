"""Shipped helpers for tests of evals, agents, browsers, toolkits and tools.

Names are imported when they are first asked for: a process that needs one of them does not pay for all.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pytest_browsereval.testing.agents import AgentConformance as AgentConformance
    from pytest_browsereval.testing.browsers import BrowserConformance as BrowserConformance
    from pytest_browsereval.testing.calling import call_problems as call_problems
    from pytest_browsereval.testing.calling import check_calls as check_calls
    from pytest_browsereval.testing.calling import open_window as open_window
    from pytest_browsereval.testing.evals import EvalDriver as EvalDriver
    from pytest_browsereval.testing.evals import EvalRun as EvalRun
    from pytest_browsereval.testing.model_server import ModelRequest as ModelRequest
    from pytest_browsereval.testing.model_server import ScriptedModel as ScriptedModel
    from pytest_browsereval.testing.replies import Call as Call
    from pytest_browsereval.testing.replies import Reply as Reply
    from pytest_browsereval.testing.replies import call as call
    from pytest_browsereval.testing.replies import calls as calls
    from pytest_browsereval.testing.replies import done as done
    from pytest_browsereval.testing.replies import refuses as refuses
    from pytest_browsereval.testing.replies import says as says
    from pytest_browsereval.testing.replies import sends as sends
    from pytest_browsereval.testing.site import ConformanceSite as ConformanceSite
    from pytest_browsereval.testing.toolkits import check_tool as check_tool
    from pytest_browsereval.testing.toolkits import check_toolkit as check_toolkit
    from pytest_browsereval.testing.toolkits import tool_problems as tool_problems
    from pytest_browsereval.testing.toolkits import toolkit_problems as toolkit_problems

_MODULES = {
    "AgentConformance": "agents",
    "BrowserConformance": "browsers",
    "Call": "replies",
    "ConformanceSite": "site",
    "EvalDriver": "evals",
    "EvalRun": "evals",
    "ModelRequest": "model_server",
    "Reply": "replies",
    "ScriptedModel": "model_server",
    "call": "replies",
    "call_problems": "calling",
    "calls": "replies",
    "check_calls": "calling",
    "check_tool": "toolkits",
    "check_toolkit": "toolkits",
    "done": "replies",
    "open_window": "calling",
    "refuses": "replies",
    "says": "replies",
    "sends": "replies",
    "tool_problems": "toolkits",
    "toolkit_problems": "toolkits",
}

__all__ = sorted(_MODULES)  # noqa: PLE0605 sorted() returns a list; one place names each export


def __getattr__(name: str) -> Any:
    """Import a public name's module when the name is first asked for."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)


def __dir__() -> list[str]:
    return __all__
