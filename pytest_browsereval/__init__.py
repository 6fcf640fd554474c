"""Browser-agent evals as pytest items. The public names; importing this package imports none of them yet.

(pytest imports it in every run of the environment, so what is heavy waits until it is asked for.)
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pytest_browsereval.agents.base import AgentConfig as AgentConfig
    from pytest_browsereval.agents.base import AgentContext as AgentContext
    from pytest_browsereval.agents.base import AgentEvaluator as AgentEvaluator
    from pytest_browsereval.agents.sync_front import SyncAgentContext as SyncAgentContext
    from pytest_browsereval.browsers.base import Browser as Browser
    from pytest_browsereval.browsers.base import BrowserConfig as BrowserConfig
    from pytest_browsereval.browsers.base import Window as Window
    from pytest_browsereval.capture.context import CaptureContext as CaptureContext
    from pytest_browsereval.config import EvalConfig as EvalConfig
    from pytest_browsereval.datasets.base import DatasetConfig as DatasetConfig
    from pytest_browsereval.errors import ErrorSource as ErrorSource
    from pytest_browsereval.errors import Fault as Fault
    from pytest_browsereval.errors import LimitReached as LimitReached
    from pytest_browsereval.errors import TerminationReason as TerminationReason
    from pytest_browsereval.graders.base import Golden as Golden
    from pytest_browsereval.graders.base import GraderConfig as GraderConfig
    from pytest_browsereval.graders.base import Recorded as Recorded
    from pytest_browsereval.model.grades import Criterion as Criterion
    from pytest_browsereval.model.grades import GraderResult as GraderResult
    from pytest_browsereval.model.grades import Verdict as Verdict
    from pytest_browsereval.model.results import AgentResult as AgentResult
    from pytest_browsereval.model.results import TaskMetadata as TaskMetadata
    from pytest_browsereval.model.tasks import Task as Task
    from pytest_browsereval.model.usage import Usage as Usage
    from pytest_browsereval.registry import Registry as Registry
    from pytest_browsereval.tools.base import Tool as Tool
    from pytest_browsereval.tools.base import Toolbox as Toolbox
    from pytest_browsereval.tools.base import ToolResult as ToolResult
    from pytest_browsereval.tools.base import tool as tool
    from pytest_browsereval.tools.kit import Directive as Directive
    from pytest_browsereval.tools.kit import Policy as Policy
    from pytest_browsereval.tools.kit import Toolkit as Toolkit
    from pytest_browsereval.tools.kit import ToolkitConfig as ToolkitConfig
    from pytest_browsereval.tools.kit import Turn as Turn

_HOMES = {
    "AgentConfig": "agents.base",
    "AgentContext": "agents.base",
    "AgentEvaluator": "agents.base",
    "AgentResult": "model.results",
    "Browser": "browsers.base",
    "BrowserConfig": "browsers.base",
    "CaptureContext": "capture.context",
    "Criterion": "model.grades",
    "DatasetConfig": "datasets.base",
    "Directive": "tools.kit",
    "ErrorSource": "errors",
    "EvalConfig": "config",
    "Fault": "errors",
    "Golden": "graders.base",
    "GraderConfig": "graders.base",
    "GraderResult": "model.grades",
    "LimitReached": "errors",
    "Policy": "tools.kit",
    "Recorded": "graders.base",
    "Registry": "registry",
    "SyncAgentContext": "agents.sync_front",
    "Task": "model.tasks",
    "TaskMetadata": "model.results",
    "TerminationReason": "errors",
    "Tool": "tools.base",
    "ToolResult": "tools.base",
    "Toolbox": "tools.base",
    "Toolkit": "tools.kit",
    "ToolkitConfig": "tools.kit",
    "Turn": "tools.kit",
    "Usage": "model.usage",
    "Verdict": "model.grades",
    "Window": "browsers.base",
    "tool": "tools.base",
}

__all__ = sorted(_HOMES)  # noqa: PLE0605 sorted() returns a list; one place names each export


def __getattr__(name: str) -> Any:
    """Import a public name's module when the name is first asked for."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return __all__
