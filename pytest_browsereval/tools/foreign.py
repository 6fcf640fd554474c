"""Tools that the browser brings itself, offered to agents as they are."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count, islice
from typing import Any

from pydantic import BaseModel, ConfigDict

from pytest_browsereval.browsers.base import ForeignTool, Window
from pytest_browsereval.browsers.playwright.origins import shorten
from pytest_browsereval.tools.base import SetsOff, Tool, ToolError
from pytest_browsereval.tools.toolkit import TOOL_NAME

PAGE = "{page}"
"""The page of the attempt, in a solution: its number is not known before."""
MOST_PROBLEMS = 5
PROBLEM_LENGTH = 200


class AnyArguments(BaseModel):
    """Stands where our own tools have a model of their arguments."""

    model_config = ConfigDict(extra="allow", frozen=True)


@dataclass(frozen=True)
class OutsideTool(Tool):
    """A tool whose schema comes from the browser's server, and whose body is a call of it."""

    given: dict[str, Any] = field(default_factory=dict)
    """The schema as the server tells it."""
    page_argument: str | None = None
    """The argument that names a page; ``{page}`` in it is filled in by the window."""

    @property
    def schema(self) -> dict[str, Any]:
        """The schema as the server tells it."""
        # Servers leave both out for tools without arguments, and providers refuse such schemas.
        return {"type": "object", "properties": {}, **self.given}

    def check_arguments(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments as they are, once they are what the schema says.

        Raises:
            ValueError: they are not; the message tells each problem.
        """
        schema = self.schema
        if self.page_argument and arguments.get(self.page_argument) == PAGE:
            schema = {**schema, "properties": {**schema["properties"], self.page_argument: {}}}
        if problems := list(_problems(schema, dict(arguments))):
            raise ValueError("; ".join(problems))
        return dict(arguments)


def _problems(schema: dict[str, Any], arguments: dict[str, Any]) -> Iterator[str]:
    """Yield what is wrong with arguments; nothing where a schema cannot be judged: its server will."""
    try:
        from jsonschema import SchemaError
        from jsonschema.validators import Draft202012Validator, validator_for
        from referencing import Registry
        from referencing.exceptions import Unresolvable
    except ImportError:  # the SDK of servers brings them along, and a plug-in's browser may do without
        return
    kind = validator_for(schema, default=Draft202012Validator)
    try:
        kind.check_schema(schema)
        # A registry of its own: a reference to somewhere else is not followed.
        errors = list(islice(kind(schema, registry=Registry()).iter_errors(arguments), MOST_PROBLEMS))
    except (SchemaError, Unresolvable):
        return
    for error in errors:
        place = ".".join(map(str, error.absolute_path))
        why = shorten(error.message, PROBLEM_LENGTH)
        yield f"{place}: {why}" if place else why


def offer_names(names: Iterable[str]) -> dict[str, str]:
    """Return what each tool of a server is offered as: ``web_go`` for ``web.go``, which providers refuse.

    Two tools never have one name.
    """
    given = list(names)
    offered = {name: name for name in given if TOOL_NAME.fullmatch(name)}
    taken = set(offered)
    for name in given:
        if name not in offered:
            base = re.sub(r"[^A-Za-z0-9_-]", "_", name)[:64]
            tries = (base if number == 1 else f"{base[:60]}_{number}" for number in count(1))
            offered[name] = next(made for made in tries if made not in taken)
            taken.add(offered[name])
    return offered


def foreign_tools(tools: Sequence[ForeignTool]) -> tuple[Tool, ...]:
    """Return the tools that a browser's survey has listed."""
    offered = offer_names(each.name for each in tools)
    return tuple(
        OutsideTool(
            name=offered[each.name],
            description=each.description,
            arguments=AnyArguments,
            body=_calling(each.name),
            sets_off=guess_sets_off(each.name),
            given=each.schema,
            page_argument=each.page_argument,
        )
        for each in tools
    )


def guess_sets_off(name: str) -> SetsOff:
    """Return how a call of a server's tool may set something off, which only its name tells."""
    # A drag that ends where it began is a click, and so is what comes before a text is typed at a point.
    if re.search(r"click|tap|submit|drag|type_at|\bcheck\b", name, re.IGNORECASE):
        return "click"
    if re.search("select_option|dialog", name, re.IGNORECASE):
        return "choice"
    return "keys" if re.search("type|press|key", name, re.IGNORECASE) else ""


def _calling(name: str) -> Callable[..., Awaitable[str]]:
    async def body(window: Window, **arguments: Any) -> str:
        result = await window.call_tool(name, arguments)
        if not result.ok:
            raise ToolError(result.output)
        return result.output

    return body
