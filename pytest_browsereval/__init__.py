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
    from pytest_browsereval.analysis.passrate import PassRate as PassRate
    from pytest_browsereval.analysis.summary import RunSummary as RunSummary
    from pytest_browsereval.analysis.summary import TrialOutcome as TrialOutcome
    from pytest_browsereval.browsers.base import Browser as Browser
    from pytest_browsereval.browsers.base import BrowserConfig as BrowserConfig
    from pytest_browsereval.browsers.base import ForeignResult as ForeignResult
    from pytest_browsereval.browsers.base import ForeignTool as ForeignTool
    from pytest_browsereval.browsers.base import PictureFormat as PictureFormat
    from pytest_browsereval.browsers.base import Survey as Survey
    from pytest_browsereval.browsers.base import Tab as Tab
    from pytest_browsereval.browsers.base import Window as Window
    from pytest_browsereval.browsers.base import WindowRequest as WindowRequest
    from pytest_browsereval.browsers.playwright.windows import PlaywrightWindow as PlaywrightWindow
    from pytest_browsereval.capture.context import CaptureContext as CaptureContext
    from pytest_browsereval.capture.context import NestedCapture as NestedCapture
    from pytest_browsereval.commands.base import Command as Command
    from pytest_browsereval.config import EvalConfig as EvalConfig
    from pytest_browsereval.config.gate import GateRule as GateRule
    from pytest_browsereval.datasets.base import DatasetConfig as DatasetConfig
    from pytest_browsereval.datasets.base import RowRef as RowRef
    from pytest_browsereval.datasets.base import Select as Select
    from pytest_browsereval.errors import ConfigError as ConfigError
    from pytest_browsereval.errors import DatasetError as DatasetError
    from pytest_browsereval.errors import ErrorSource as ErrorSource
    from pytest_browsereval.errors import Fault as Fault
    from pytest_browsereval.errors import LimitReached as LimitReached
    from pytest_browsereval.errors import Outage as Outage
    from pytest_browsereval.errors import StopRun as StopRun
    from pytest_browsereval.errors import TerminationReason as TerminationReason
    from pytest_browsereval.errors import UsageError as UsageError
    from pytest_browsereval.graders.base import Golden as Golden
    from pytest_browsereval.graders.base import GraderConfig as GraderConfig
    from pytest_browsereval.graders.base import Recorded as Recorded
    from pytest_browsereval.llm.client import ChatClient as ChatClient
    from pytest_browsereval.llm.client import chat_client as chat_client
    from pytest_browsereval.llm.client import check_key as check_key
    from pytest_browsereval.llm.completion import Completion as Completion
    from pytest_browsereval.llm.completion import ToolRequest as ToolRequest
    from pytest_browsereval.llm.config import LLMConfig as LLMConfig
    from pytest_browsereval.llm.judge import JudgeConfig as JudgeConfig
    from pytest_browsereval.model.digest import AttemptDigest as AttemptDigest
    from pytest_browsereval.model.digest import GradeDigest as GradeDigest
    from pytest_browsereval.model.grades import Criterion as Criterion
    from pytest_browsereval.model.grades import GraderResult as GraderResult
    from pytest_browsereval.model.grades import Verdict as Verdict
    from pytest_browsereval.model.messages import AssistantMessage as AssistantMessage
    from pytest_browsereval.model.messages import DelegationMessage as DelegationMessage
    from pytest_browsereval.model.messages import DelegationResultMessage as DelegationResultMessage
    from pytest_browsereval.model.messages import ErrorMessage as ErrorMessage
    from pytest_browsereval.model.messages import Message as Message
    from pytest_browsereval.model.messages import ToolCallMessage as ToolCallMessage
    from pytest_browsereval.model.messages import ToolResultMessage as ToolResultMessage
    from pytest_browsereval.model.messages import UserMessage as UserMessage
    from pytest_browsereval.model.results import AgentResult as AgentResult
    from pytest_browsereval.model.results import EvalWarning as EvalWarning
    from pytest_browsereval.model.results import TaskError as TaskError
    from pytest_browsereval.model.results import TaskMetadata as TaskMetadata
    from pytest_browsereval.model.rules import RuleResult as RuleResult
    from pytest_browsereval.model.tasks import RowMetadata as RowMetadata
    from pytest_browsereval.model.tasks import Task as Task
    from pytest_browsereval.model.traffic import Traffic as Traffic
    from pytest_browsereval.model.usage import Usage as Usage
    from pytest_browsereval.needs import ChecksRead as ChecksRead
    from pytest_browsereval.needs import ModelNeed as ModelNeed
    from pytest_browsereval.needs import Needs as Needs
    from pytest_browsereval.registry import Component as Component
    from pytest_browsereval.registry import ConfigReader as ConfigReader
    from pytest_browsereval.registry import Registry as Registry
    from pytest_browsereval.run.foreign import Exported as Exported
    from pytest_browsereval.run.foreign import ExportFormat as ExportFormat
    from pytest_browsereval.run.foreign import Imported as Imported
    from pytest_browsereval.run.foreign import ImportFormat as ImportFormat
    from pytest_browsereval.run.store import RunStore as RunStore
    from pytest_browsereval.run.store import TrialKey as TrialKey
    from pytest_browsereval.tools.base import Tool as Tool
    from pytest_browsereval.tools.base import Toolbox as Toolbox
    from pytest_browsereval.tools.base import ToolError as ToolError
    from pytest_browsereval.tools.base import ToolResult as ToolResult
    from pytest_browsereval.tools.base import tool as tool
    from pytest_browsereval.tools.toolkit import Directive as Directive
    from pytest_browsereval.tools.toolkit import Policy as Policy
    from pytest_browsereval.tools.toolkit import Toolkit as Toolkit
    from pytest_browsereval.tools.toolkit import ToolkitConfig as ToolkitConfig
    from pytest_browsereval.tools.toolkit import Turn as Turn

_HOMES = {
    "AgentConfig": "agents.base",
    "AgentContext": "agents.base",
    "AgentEvaluator": "agents.base",
    "AgentResult": "model.results",
    "AssistantMessage": "model.messages",
    "AttemptDigest": "model.digest",
    "Browser": "browsers.base",
    "BrowserConfig": "browsers.base",
    "CaptureContext": "capture.context",
    "ChatClient": "llm.client",
    "ChecksRead": "needs",
    "Command": "commands.base",
    "Completion": "llm.completion",
    "Component": "registry",
    "ConfigError": "errors",
    "ConfigReader": "registry",
    "Criterion": "model.grades",
    "DatasetConfig": "datasets.base",
    "DatasetError": "errors",
    "DelegationMessage": "model.messages",
    "DelegationResultMessage": "model.messages",
    "Directive": "tools.toolkit",
    "ErrorMessage": "model.messages",
    "ErrorSource": "errors",
    "EvalConfig": "config",
    "EvalWarning": "model.results",
    "ExportFormat": "run.foreign",
    "Exported": "run.foreign",
    "Fault": "errors",
    "ForeignResult": "browsers.base",
    "ForeignTool": "browsers.base",
    "GateRule": "config.gate",
    "Golden": "graders.base",
    "GradeDigest": "model.digest",
    "GraderConfig": "graders.base",
    "GraderResult": "model.grades",
    "ImportFormat": "run.foreign",
    "Imported": "run.foreign",
    "JudgeConfig": "llm.judge",
    "LLMConfig": "llm.config",
    "LimitReached": "errors",
    "Message": "model.messages",
    "ModelNeed": "needs",
    "Needs": "needs",
    "NestedCapture": "capture.context",
    "Outage": "errors",
    "PassRate": "analysis.passrate",
    "PictureFormat": "browsers.base",
    "PlaywrightWindow": "browsers.playwright.windows",
    "Policy": "tools.toolkit",
    "Recorded": "graders.base",
    "Registry": "registry",
    "RowMetadata": "model.tasks",
    "RowRef": "datasets.base",
    "RuleResult": "model.rules",
    "RunStore": "run.store",
    "RunSummary": "analysis.summary",
    "Select": "datasets.base",
    "StopRun": "errors",
    "Survey": "browsers.base",
    "SyncAgentContext": "agents.sync_front",
    "Tab": "browsers.base",
    "Task": "model.tasks",
    "TaskError": "model.results",
    "TaskMetadata": "model.results",
    "TerminationReason": "errors",
    "Tool": "tools.base",
    "ToolCallMessage": "model.messages",
    "ToolError": "tools.base",
    "ToolRequest": "llm.completion",
    "ToolResult": "tools.base",
    "ToolResultMessage": "model.messages",
    "Toolbox": "tools.base",
    "Toolkit": "tools.toolkit",
    "ToolkitConfig": "tools.toolkit",
    "Traffic": "model.traffic",
    "TrialKey": "run.store",
    "TrialOutcome": "analysis.summary",
    "Turn": "tools.toolkit",
    "Usage": "model.usage",
    "UsageError": "errors",
    "UserMessage": "model.messages",
    "Verdict": "model.grades",
    "Window": "browsers.base",
    "WindowRequest": "browsers.base",
    "chat_client": "llm.client",
    "check_key": "llm.client",
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
