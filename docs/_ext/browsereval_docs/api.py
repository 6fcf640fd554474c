"""The public names, by what a plug-in author wants to write."""

from __future__ import annotations

import inspect
from dataclasses import is_dataclass
from enum import Enum
from typing import Any, cast

from docutils import nodes
from pydantic import BaseModel
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.ext.napoleon import Config
from sphinx.ext.napoleon.docstring import GoogleDocstring

import pytest_browsereval
from pytest_browsereval import testing

GROUPS = {
    "members": """
        Component BOTH_SPELLINGS Registry ConfigReader Needs ChecksRead ModelNeed Traffic ConfigError
        UsageError Fault ErrorSource Outage LimitReached StopRun TerminationReason
    """,
    "agents": """
        AgentConfig AgentContext SyncAgentContext AgentEvaluator AgentResult CaptureContext
    """,
    "models": """
        LLMConfig JudgeConfig chat_client check_key ChatClient Completion ToolRequest Usage
    """,
    "graders": """
        GraderConfig Recorded GraderResult Criterion Verdict Golden
    """,
    "datasets": """
        DatasetConfig RowRef Select Task RowMetadata DatasetError
    """,
    "browsers": """
        BrowserConfig Browser Window PlaywrightWindow WindowRequest Tab Survey ForeignTool
        ForeignResult PictureFormat
    """,
    "tools": """
        ToolkitConfig Toolkit Tool tool ToolError ToolResult ToolContext Toolbox Policy Directive Turn
        policy_text GuardConfig GuardedCall AttackConfig Goal Placer
    """,
    "gate-rules": """
        GateRule RuleResult GradeDigest
    """,
    "records": """
        EvalConfig TaskMetadata TaskError EvalWarning RunSummary PassRate
        Message UserMessage AssistantMessage ToolCallMessage ToolResultMessage ErrorMessage
        DelegationMessage DelegationResultMessage read_message
    """,
    "runs": """
        open_run StoredRun StoredTrial StoredAttempt StoredTurn StoredStep StoredDelegation Cause
    """,
    "commands": """
        ExportConfig Exported ImportFormat Imported Command RunStore TrialKey
    """,
}
CHOSEN = {"Registry": "register, add_reader", "EvalConfig": "path, base_dir, secrets, public_dump"}
"""Members that are shown of classes of which plug-ins need few."""
HIDDEN = "__init__, type, model_config, model_post_init, model_fields, model_computed_fields, family"


def write_group(title: str) -> str:
    """Return the public names of a group.

    Raises:
        RuntimeError: a name is in no group, or in one and not public.
    """
    grouped = {name for names in GROUPS.values() for name in names.split()}
    if differing := grouped ^ set(pytest_browsereval.__all__):
        raise RuntimeError(
            f"docs/_ext/browsereval_docs/api.py: put {sorted(differing)} into GROUPS, or out of it"
        )
    return "".join(_document(pytest_browsereval, name) for name in GROUPS[title].split())


def write_testing() -> str:
    """Return the public names of the helpers for tests."""
    return "".join(_document(testing, name) for name in testing.__all__)


def _document(module: Any, name: str) -> str:
    value = getattr(module, name)
    full = f"{module.__name__}.{name}"
    if inspect.isclass(value):
        chosen = CHOSEN.get(name, "")
        members = f"   :members: {chosen}\n" + ("   :undoc-members:\n" if _has_fields(value) else "")
        body = f".. autoclass:: {full}\n{members}   :exclude-members: {HIDDEN}\n"
    elif inspect.isfunction(value):
        body = f".. autofunction:: {full}\n"
    else:
        body = f".. autodata:: {full}\n   :no-value:\n"
    return f"```{{eval-rst}}\n{body}```\n\n"


def _has_fields(value: type) -> bool:
    """Whether names of a class say something without a text: fields of records, members of an enumeration."""
    return is_dataclass(value) or issubclass(value, Enum | BaseModel | tuple)


def read_docstring(*event: Any) -> None:
    """Turn sections such as `Args:` into markup.

    Not by the extension napoleon: of an attribute it takes what stands before a colon for its type.
    """
    app, what, name, value, options, lines = event  # as `autodoc-process-docstring` hands them over
    if what not in ("attribute", "property", "data"):
        # napoleon's Config has the default settings, and is no Config of Sphinx to a type checker.
        lines[:] = GoogleDocstring(lines, cast("Any", Config()), app, what, name, value, options).lines()


def find_public(
    app: Sphinx, env: BuildEnvironment, node: addnodes.pending_xref, shown: nodes.TextElement
) -> nodes.reference | nodes.TextElement | None:
    """Link a class to its public name; what is not public, or not ours, is shown without a link."""
    if node.get("refdomain") != "py":
        return None
    name = node["reftarget"].rpartition(".")[2]
    for module in (pytest_browsereval, testing):
        if name in module.__all__ and node["reftarget"] != f"{module.__name__}.{name}":
            python = env.domains.python_domain
            found = python.resolve_xref(
                env, node["refdoc"], app.builder, "obj", f"{module.__name__}.{name}", node, shown
            )
            if found is not None:
                return found
    return shown
