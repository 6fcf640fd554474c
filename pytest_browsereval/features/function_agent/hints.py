"""What to write instead of what a function of the user has raised or returned."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pytest_browsereval.agents.base import AgentContext
from pytest_browsereval.config_text import format_path
from pytest_browsereval.errors import advise, name_raised, nearest
from pytest_browsereval.features.shared.tool_loop.sync_context import SyncAgentContext, SyncToolbox
from pytest_browsereval.model.tasks import Task
from pytest_browsereval.tools.base import ToolResult
from pytest_browsereval.tools.toolbox import Toolbox

_MEANT = {
    "page": "window.page",
    "query": "task.query",
    "start_url": "task.start_url",
    "answer": "tools.answer",
}
"""What is looked for in the context itself, and where it is."""


JUDGING = "Graders decide whether the row passes, by its `answer`, `checks` or `effects`."


def describe_raised(error: BaseException, where: str) -> str:
    """Return what was raised, where, and what to write instead if that is known."""
    said = f": {error}" if str(error) else ""
    return f"raised {name_raised(error)}{said}, at {where}{advise(error) or _advise(error)}"


def place_of_function(function: Callable[..., Any]) -> str:
    """Return ``" (FILE:LINE)"`` of a function; "" if unknown."""
    plain = inspect.unwrap(function)
    while isinstance(plain, functools.partial):
        plain = plain.func
    code = getattr(plain, "__code__", None)
    return "" if code is None else f" ({format_path(Path(code.co_filename))}:{code.co_firstlineno})"


def describe_form(function: Callable[..., Any], *, is_async: bool) -> str:
    """Return how a function is written that gets the context, and what is in it."""
    name = getattr(function, "__name__", "solve")
    return (
        f"Write `{'async ' if is_async else ''}def {name}(context):`; `context.task` is the row, "
        "`context.tools` has the tools, and `context.window.page` of an async function is the page."
    )


def _advise(error: BaseException) -> str:
    if isinstance(error, AssertionError):
        return f". What an agent raises makes the row errored, not failed. Leave the assert out. {JUDGING}"
    return _advise_of_attribute(error.obj, error.name or "") if isinstance(error, AttributeError) else ""


def _write_call(toolbox: Toolbox | SyncToolbox, name: str) -> str:
    """Return the call of a tool in the place of a method, with the arguments that it needs."""
    tool = next((one for one in toolbox.tools if one.name == name), None)
    if tool is None:
        return f"There is no tool {name!r}.{nearest(name, [one.name for one in toolbox.tools])}"
    needed = [f'"{key}": ...' for key, one in tool.arguments.model_fields.items() if one.is_required()]
    wait = "await " if isinstance(toolbox, Toolbox) else ""
    return f'Write `{wait}context.tools.call("{name}", {{{", ".join(needed)}}})`.'


def _advise_of_attribute(owner: object, name: str) -> str:
    if inspect.iscoroutine(owner):
        return ". A call gives its result once it is awaited. Write `await` in front of it."
    if isinstance(owner, Toolbox | SyncToolbox):
        return f". Tools are called by their names. {_write_call(owner, name)}"
    if isinstance(owner, SyncAgentContext) and (name == "page" or name in AgentContext.__dataclass_fields__):
        return (
            ". Only an async function has that. Write `async def`, and `await` Playwright's calls, or use "
            "`context.tools.call(...)` and `context.log_assistant(...)`."
        )
    if isinstance(owner, AgentContext | SyncAgentContext) and name in _MEANT:
        return f". Write `context.{_MEANT[name]}`."
    if isinstance(owner, AgentContext | SyncAgentContext | Task | ToolResult):
        known = [one for one in dir(owner) if not one.startswith("_")]
        return f".{nearest(name, known)}"
    return ""
