"""What to write instead of what a function of the user has raised or returned."""

from __future__ import annotations

import inspect

from pytest_browsereval.agents.base import AgentContext
from pytest_browsereval.errors import advise, name_raised, nearest
from pytest_browsereval.features.shared.tool_loop.sync_context import SyncAgentContext, SyncToolbox
from pytest_browsereval.model.tasks import Task
from pytest_browsereval.tools.base import ToolResult
from pytest_browsereval.tools.toolbox import Toolbox

GRADERS = "Graders decide whether the row passes: give the row an `answer` or `checks`"
_MEANT = {
    "page": "window.page",
    "query": "task.query",
    "start_url": "task.start_url",
    "answer": "tools.answer",
}
"""What is looked for in the context itself, and where it is."""


def describe_raised(error: BaseException, where: str) -> str:
    """Return what was raised, where, and what to write instead if that is known."""
    said = f": {error}" if str(error) else ""
    return f"raised {name_raised(error)}{said}, at {where}{advise(error) or _advise(error)}"


def _advise(error: BaseException) -> str:
    if isinstance(error, AssertionError):
        return (
            f". What an agent raises makes the row errored, not failed. {GRADERS}, and leave the assert out."
        )
    if isinstance(error, AttributeError):
        return _advise_of_attribute(error.obj, error.name or "")
    return ""


def _advise_of_attribute(owner: object, name: str) -> str:
    if inspect.iscoroutine(owner):
        return ". A call gives its result once it is awaited. Write `await` in front of it."
    if isinstance(owner, Toolbox | SyncToolbox):
        wait = "await " if isinstance(owner, Toolbox) else ""
        return f". Tools are called by their names. Write `{wait}context.tools.call({name!r}, {{...}})`."
    if isinstance(owner, SyncAgentContext) and (name == "page" or name in AgentContext.__dataclass_fields__):
        return (
            ". Only an async function has it. Write `async def` and `await` what Playwright does, or use "
            "`context.tools.call(...)`."
        )
    if isinstance(owner, AgentContext | SyncAgentContext) and name in _MEANT:
        return f". Write `context.{_MEANT[name]}`."
    if isinstance(owner, AgentContext | SyncAgentContext | Task | ToolResult):
        known = [one for one in dir(owner) if not one.startswith("_")]
        return f".{nearest(name, known)}"
    return ""
