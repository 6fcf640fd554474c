"""What to write instead of what a function of the user has raised or returned."""

from __future__ import annotations

import ast
import contextlib
import functools
import inspect
import textwrap
import traceback
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


def describe_raised(error: BaseException, where: str, task: Task) -> str:
    """Return what was raised, where, and what to write instead if that is known."""
    said = f": {error}" if str(error) else ""
    return f"raised {name_raised(error)}{said}, at {where}{advise(error) or _advise(error, task)}"


def describe_judging(task: Task) -> str:
    """Return what decides whether a row passes, by what the row has."""
    given = [
        f"`{key}`" for key in ("answer", "checks", "effects") if getattr(task, key) not in (None, (), [])
    ]
    if not given:
        return "Graders decide whether the row passes: give the row an `answer` or `checks`."
    return f"The row's {' and '.join(given)} decide{'s' if given == ['`answer`'] else ''} whether it passes."


def place_of_function(function: Callable[..., Any], *, returns: bool = False) -> str:
    """Return ``" (FILE:LINE)"`` of a function, or of the one ``return`` that gives no text; "" if unknown."""
    plain = inspect.unwrap(function)
    while isinstance(plain, functools.partial):
        plain = plain.func
    if (code := getattr(plain, "__code__", None)) is None:
        return ""
    line = code.co_firstlineno
    with contextlib.suppress(OSError, SyntaxError):
        tree = ast.parse(textwrap.dedent(inspect.getsource(plain)))
        found = [one for one in ast.walk(tree) if isinstance(one, ast.Return) and not _is_text(one.value)]
        line += found[0].lineno - 1 if returns and len(found) == 1 else 0
    return f" ({format_path(Path(code.co_filename))}:{line})"


def _is_text(value: ast.expr | None) -> bool:
    return (
        value is None
        or isinstance(value, ast.JoinedStr)
        or (isinstance(value, ast.Constant) and isinstance(value.value, str))
    )


def describe_form(function: Callable[..., Any], *, is_async: bool) -> str:
    """Return how a function is written that gets the context, and what its arguments are called there."""
    name = getattr(function, "__name__", "solve")
    given = [one for one in inspect.signature(function).parameters if one in ("task", "tools", *_MEANT)]
    meant = [f"`{one}` is `context.{_MEANT.get(one, one)}`" for one in given]
    pages = "" if is_async or "page" not in given else "; the page needs an `async def`"
    told = (
        ", ".join(meant) or "`context.task` is the row, and `context.window.page` of an async function a page"
    )
    return f"Write `{'async ' if is_async else ''}def {name}(context):`; {told}{pages}."


def _advise(error: BaseException, task: Task) -> str:
    if isinstance(error, AssertionError):
        return (
            ". What an agent raises makes the row errored, not failed. Leave the assert out. "
            f"{describe_judging(task)}"
        )
    if isinstance(error, AttributeError):
        frames = traceback.extract_tb(error.__traceback__)
        return _advise_of_attribute(error.obj, error.name or "", frames[-1].line or "" if frames else "")
    return ""


def _write_call(toolbox: Toolbox | SyncToolbox, name: str, line: str) -> str:
    """Return the call of a tool in the place of a method, with the arguments that the line of code has."""
    tool = next((one for one in toolbox.tools if one.name == name), None)
    if tool is None:
        return f"There is no tool {name!r}.{nearest(name, [one.name for one in toolbox.tools])}"
    fields, given = list(tool.arguments.model_fields), dict[str, str]()
    with contextlib.suppress(SyntaxError):
        for node in ast.walk(ast.parse(line.strip())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == name:
                given = dict(zip(fields, map(ast.unparse, node.args), strict=False))
                given |= {one.arg: ast.unparse(one.value) for one in node.keywords if one.arg}
    given = given or {key: "..." for key, one in tool.arguments.model_fields.items() if one.is_required()}
    arguments = ", ".join(f'"{key}": {value}' for key, value in given.items())
    wait = "await " if isinstance(toolbox, Toolbox) else ""
    return f'Write `{wait}context.tools.call("{name}"{f", {{{arguments}}}" if given else ""})`.'


def _advise_of_attribute(owner: object, name: str, line: str) -> str:
    if inspect.iscoroutine(owner):
        return ". A call gives its result once it is awaited. Write `await` in front of it."
    if isinstance(owner, Toolbox | SyncToolbox):
        return f". Tools are called by their names. {_write_call(owner, name, line)}"
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
