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
    from pytest_browsereval.commands.base import Command as Command
    from pytest_browsereval.commands.runs import open_run as open_run
    from pytest_browsereval.config import EvalConfig as EvalConfig
    from pytest_browsereval.config.export import ExportConfig as ExportConfig
    from pytest_browsereval.config.export import Exported as Exported
    from pytest_browsereval.config.gate import GateRule as GateRule
    from pytest_browsereval.config.guard import GuardConfig as GuardConfig
    from pytest_browsereval.config.guard import GuardedCall as GuardedCall
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
    from pytest_browsereval.features.shared.attack import AttackConfig as AttackConfig
    from pytest_browsereval.features.shared.attack import Goal as Goal
    from pytest_browsereval.features.shared.attack import Placer as Placer
    from pytest_browsereval.features.shared.tool_loop.selection import policy_text as policy_text
    from pytest_browsereval.features.shared.tool_loop.sync_context import SyncAgentContext as SyncAgentContext
    from pytest_browsereval.graders.base import Golden as Golden
    from pytest_browsereval.graders.base import GraderConfig as GraderConfig
    from pytest_browsereval.graders.base import Recorded as Recorded
    from pytest_browsereval.llm.client import ChatClient as ChatClient
    from pytest_browsereval.llm.client import chat_client as chat_client
    from pytest_browsereval.llm.client import check_key as check_key
    from pytest_browsereval.llm.completion import Completion as Completion
    from pytest_browsereval.llm.completion import ToolRequest as ToolRequest
    from pytest_browsereval.llm.config import BOTH_SPELLINGS as BOTH_SPELLINGS
    from pytest_browsereval.llm.config import LLMConfig as LLMConfig
    from pytest_browsereval.llm.judge import JudgeConfig as JudgeConfig
    from pytest_browsereval.model.causes import Cause as Cause
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
    from pytest_browsereval.model.messages import read_message as read_message
    from pytest_browsereval.model.results import AgentResult as AgentResult
    from pytest_browsereval.model.results import EvalWarning as EvalWarning
    from pytest_browsereval.model.results import TaskError as TaskError
    from pytest_browsereval.model.results import TaskMetadata as TaskMetadata
    from pytest_browsereval.model.rules import RuleResult as RuleResult
    from pytest_browsereval.model.tasks import RowMetadata as RowMetadata
    from pytest_browsereval.model.tasks import Task as Task
    from pytest_browsereval.model.traffic import Traffic as Traffic
    from pytest_browsereval.model.trials import TrialKey as TrialKey
    from pytest_browsereval.model.usage import Usage as Usage
    from pytest_browsereval.needs import ChecksRead as ChecksRead
    from pytest_browsereval.needs import ModelNeed as ModelNeed
    from pytest_browsereval.needs import Needs as Needs
    from pytest_browsereval.registry import Component as Component
    from pytest_browsereval.registry import ConfigReader as ConfigReader
    from pytest_browsereval.registry import Registry as Registry
    from pytest_browsereval.run.imports import Imported as Imported
    from pytest_browsereval.run.imports import ImportFormat as ImportFormat
    from pytest_browsereval.run.store import RunStore as RunStore
    from pytest_browsereval.runs.attempt import GradeDigest as GradeDigest
    from pytest_browsereval.runs.attempt import StoredAttempt as StoredAttempt
    from pytest_browsereval.runs.passrate import PassRate as PassRate
    from pytest_browsereval.runs.run import StoredRun as StoredRun
    from pytest_browsereval.runs.summary import RunSummary as RunSummary
    from pytest_browsereval.runs.trial import StoredTrial as StoredTrial
    from pytest_browsereval.runs.turns import StoredDelegation as StoredDelegation
    from pytest_browsereval.runs.turns import StoredStep as StoredStep
    from pytest_browsereval.runs.turns import StoredTurn as StoredTurn
    from pytest_browsereval.tools.base import Tool as Tool
    from pytest_browsereval.tools.base import ToolContext as ToolContext
    from pytest_browsereval.tools.base import ToolError as ToolError
    from pytest_browsereval.tools.base import ToolResult as ToolResult
    from pytest_browsereval.tools.base import tool as tool
    from pytest_browsereval.tools.toolbox import Toolbox as Toolbox
    from pytest_browsereval.tools.toolkit import Directive as Directive
    from pytest_browsereval.tools.toolkit import Policy as Policy
    from pytest_browsereval.tools.toolkit import Toolkit as Toolkit
    from pytest_browsereval.tools.toolkit import ToolkitConfig as ToolkitConfig
    from pytest_browsereval.tools.toolkit import Turn as Turn

_HOMES = {
    "agents.base": "AgentConfig AgentContext AgentEvaluator",
    "features.shared.tool_loop.selection": "policy_text",
    "features.shared.tool_loop.sync_context": "SyncAgentContext",
    "runs.passrate": "PassRate",
    "runs.run": "StoredRun",
    "runs.summary": "RunSummary",
    "runs.trial": "StoredTrial",
    "runs.turns": "StoredDelegation StoredStep StoredTurn",
    "browsers.base": "Browser BrowserConfig ForeignResult ForeignTool PictureFormat Survey Tab Window "
    "WindowRequest",
    "browsers.playwright.windows": "PlaywrightWindow",
    "capture.context": "CaptureContext",
    "commands.base": "Command",
    "commands.runs": "open_run",
    "config": "EvalConfig",
    "config.export": "ExportConfig Exported",
    "config.gate": "GateRule",
    "config.guard": "GuardConfig GuardedCall",
    "datasets.base": "DatasetConfig RowRef Select",
    "features.shared.attack": "AttackConfig Goal Placer",
    "errors": "ConfigError DatasetError ErrorSource Fault LimitReached Outage StopRun TerminationReason "
    "UsageError",
    "graders.base": "Golden GraderConfig Recorded",
    "llm.client": "ChatClient chat_client check_key",
    "llm.completion": "Completion ToolRequest",
    "llm.config": "BOTH_SPELLINGS LLMConfig",
    "llm.judge": "JudgeConfig",
    "runs.attempt": "StoredAttempt GradeDigest",
    "model.causes": "Cause",
    "model.grades": "Criterion GraderResult Verdict",
    "model.messages": "AssistantMessage DelegationMessage DelegationResultMessage ErrorMessage Message "
    "ToolCallMessage ToolResultMessage UserMessage read_message",
    "model.results": "AgentResult EvalWarning TaskError TaskMetadata",
    "model.rules": "RuleResult",
    "model.tasks": "RowMetadata Task",
    "model.traffic": "Traffic",
    "model.trials": "TrialKey",
    "model.usage": "Usage",
    "needs": "ChecksRead ModelNeed Needs",
    "registry": "Component ConfigReader Registry",
    "run.imports": "ImportFormat Imported",
    "run.store": "RunStore",
    "tools.base": "Tool ToolContext ToolError ToolResult tool",
    "tools.toolbox": "Toolbox",
    "tools.toolkit": "Directive Policy Toolkit ToolkitConfig Turn",
}
"""The public names of each module."""
_PLACES = {name: module for module, names in _HOMES.items() for name in names.split()}

__all__ = sorted(_PLACES)  # noqa: PLE0605 sorted() returns a list; one place names each export


def __getattr__(name: str) -> Any:
    """Import a public name's module when the name is first asked for."""
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_PLACES[name]}"), name)


def __dir__() -> list[str]:
    return __all__
