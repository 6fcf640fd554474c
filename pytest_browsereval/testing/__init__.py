"""Shipped helpers for tests of evals, agents, browsers, toolkits and tools.

Names are imported when they are first asked for: a process that needs one of them does not pay for all.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pytest_browsereval.features.conformance.agents import AgentConformance as AgentConformance
    from pytest_browsereval.features.conformance.browsers import BrowserConformance as BrowserConformance
    from pytest_browsereval.features.conformance.calling import check_calls as check_calls
    from pytest_browsereval.features.conformance.calling import open_window as open_window
    from pytest_browsereval.features.conformance.site import ConformanceSite as ConformanceSite
    from pytest_browsereval.features.conformance.toolkits import check_tool as check_tool
    from pytest_browsereval.features.conformance.toolkits import check_toolkit as check_toolkit
    from pytest_browsereval.features.scripted_model.replies import Call as Call
    from pytest_browsereval.features.scripted_model.replies import Reply as Reply
    from pytest_browsereval.features.scripted_model.replies import call as call
    from pytest_browsereval.features.scripted_model.replies import calls as calls
    from pytest_browsereval.features.scripted_model.replies import done as done
    from pytest_browsereval.features.scripted_model.replies import refuses as refuses
    from pytest_browsereval.features.scripted_model.replies import says as says
    from pytest_browsereval.features.scripted_model.replies import sends as sends
    from pytest_browsereval.features.scripted_model.server import ModelRequest as ModelRequest
    from pytest_browsereval.features.scripted_model.server import ScriptedModel as ScriptedModel
    from pytest_browsereval.testing.evals import EvalDriver as EvalDriver
    from pytest_browsereval.testing.evals import EvalRun as EvalRun

_SUITES = "pytest_browsereval.features.conformance"
_MODEL = "pytest_browsereval.features.scripted_model"
_HOMES = {
    f"{_SUITES}.agents": "AgentConformance",
    f"{_SUITES}.browsers": "BrowserConformance",
    f"{_SUITES}.calling": "check_calls open_window",
    f"{_SUITES}.site": "ConformanceSite",
    f"{_SUITES}.toolkits": "check_tool check_toolkit",
    f"{__name__}.evals": "EvalDriver EvalRun",
    f"{_MODEL}.server": "ModelRequest ScriptedModel",
    f"{_MODEL}.replies": "Call Reply call calls done refuses says sends",
}
"""The public names of each module."""
_PLACES = {name: module for module, names in _HOMES.items() for name in names.split()}

__all__ = sorted(_PLACES)  # noqa: PLE0605 sorted() returns a list; one place names each export


def __getattr__(name: str) -> Any:
    """Import a public name's module when the name is first asked for."""
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_PLACES[name]), name)


def __dir__() -> list[str]:
    return __all__
