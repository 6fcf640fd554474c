"""A tool and its output contract.

Contract: every tool returns either a plain sentence or the envelope ``{"ok": bool, "output": str}``,
one of the two for each tool, and never raises. Ours return the envelope (:class:`ToolResult`).
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Awaitable, Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Literal, overload

from pydantic import BaseModel, ConfigDict, JsonValue, ValidationError, create_model

from pytest_browsereval.errors import nearest
from pytest_browsereval.model.messages import Hit
from pytest_browsereval.model.tasks import Task

DONE = "done"
"""The tool that ends an attempt with its answer."""

GIVE_UP = "give_up"
"""The tool that ends a delegation whose goal cannot be reached; only executors have it."""

ENDINGS = (DONE, GIVE_UP)
"""Tools that end the work; calls of them are no steps."""

SetsOff = Literal["", "click", "choice", "keys"]
"""A click or a drag; a choice of an option or the answer to a dialog; keys, which go where the focus is if a
call names no target. Empty: nothing."""

KEY_S = 0.02
"""How long one typed character may take."""


@dataclass(frozen=True)
class ToolResult:
    """What a tool returns."""

    ok: bool
    output: str
    hint: str = field(default="", compare=False, repr=False)
    """The beginning of the output that is the harness's own: no page text is in it."""
    raised: str = field(default="", compare=False, repr=False)
    """What the tool's own code raised, which breaks its contract."""
    hit: Hit | None = field(default=None, compare=False, repr=False)
    """The element that the call acted on."""

    @classmethod
    def refusal(cls, why: str) -> ToolResult:
        """Return the result of a call that the harness has not made."""
        return cls(ok=False, output=why, hint=why)

    @property
    def page(self) -> str:
        """The rest of the output: what the tool said, with all that a page has written."""
        return self.output.removeprefix(self.hint).removeprefix("\n") if self.hint else self.output

    def as_json(self) -> dict[str, JsonValue]:
        """Return ``{"ok": ..., "output": ...}``."""
        return {"ok": self.ok, "output": self.output}

    def for_model(self) -> tuple[str, str]:
        """Return what a model reads as the harness's words, and what it reads as a page's."""
        return "\n".join(filter(None, ("ok" if self.ok else "failed", self.hint))), self.page


class ToolError(Exception):
    """Raised inside a tool's body for a readable refusal; becomes ``{ok: false}``, never escapes."""


class Refusal(ToolError):
    """One whose message has no word of a page: a model reads it as the harness's own."""


ToolBody = Callable[..., Awaitable[str]]
"""``async def name(window, **arguments) -> str``: the output on success."""


@dataclass(frozen=True)
class ToolContext:
    """What a tool may know of its attempt, apart from the window."""

    task: Task
    """The row; placeholders of sites are filled in."""
    folder: Path
    """The attempt's folder, which exists."""
    base_dir: Path
    """The folder of the eval config, which paths in a row are relative to."""
    site_urls: Mapping[str, str] = field(default_factory=dict)
    """The base URL of each site, by its name."""
    variables: Mapping[str, str] = field(default_factory=dict, repr=False)
    """As in ``AgentContext``."""
    files: Mapping[str, Path] = field(default_factory=dict)
    """As in ``AgentContext``."""


@dataclass(frozen=True)
class Tool:
    """One atomic capability: a name, a description, a flat schema made from the signature."""

    name: str
    description: str
    arguments: type[BaseModel]
    body: ToolBody
    takes_picture: bool = True
    """False for tools that leave the page as it was."""
    may_take_long: bool = False
    """True for tools that load pages or wait: their limit is that of a navigation."""
    needs_page: bool = True
    """False for tools that work in any window, with what ``Window`` has; those of a toolkit that needs no
    page do in any case."""
    sets_off: SetsOff = ""
    """How a call may trigger something in a page; guards such as ``confirm`` look at this before it runs."""
    holds_value: str = ""
    """The parameter with the value that a call enters: a text, a choice, an address. Calls are compared by
    it; empty if none is."""
    context_name: str = ""
    """The parameter of the body that gets the attempt's ``ToolContext``; empty if it has none."""
    describe: Callable[[ToolContext], str] | None = None
    """Returns what to add to the tool's description for an attempt, such as the files that there are."""

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON schema of the arguments: an object, flat, with no titles."""
        # A copy: clients and plug-ins may change what they are handed.
        return deepcopy(self._schema)

    @cached_property
    def parameters(self) -> tuple[str, ...]:
        """The names of the arguments, in the order of the schema."""
        return tuple(self.schema["properties"])

    @cached_property
    def _schema(self) -> dict[str, Any]:
        schema = self.arguments.model_json_schema()
        for name in ("title", "description"):
            schema.pop(name, None)
        fields = {name: _flat(field) for name, field in schema.get("properties", {}).items()}
        return {**schema, "properties": fields}

    def bind(self, context: ToolContext | None) -> Tool:
        """Return the tool for an attempt: one that asks for a ``ToolContext`` has it."""
        if context is None or not self.context_name:
            return self
        body = partial(self.body, **{self.context_name: context})
        more = f" {self.describe(context)}" if self.describe else ""
        return replace(self, body=body, context_name="", description=self.description + more)

    def check_arguments(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments as the body takes them: checked, converted, defaults filled in.

        Raises:
            ValueError: they are not what the schema says; the message tells each problem.
        """
        try:
            model = self.arguments.model_validate(arguments)
        except ValidationError as error:
            raise ValueError("; ".join(map(self._describe, error.errors()))) from None
        return {field: getattr(model, field) for field in type(model).model_fields}

    def _describe(self, problem: Mapping[str, Any]) -> str:
        """Return what is wrong with an argument, with the nearest name where another one is meant."""
        place, hint = ".".join(map(str, problem["loc"])), ""
        if problem["type"] == "extra_forbidden":
            hint = nearest(place, self.arguments.model_fields)
        elif problem["type"] == "literal_error":
            hint = nearest(str(problem["input"]), re.findall("'(.*?)'", problem["ctx"]["expected"]))
        return f"{place or self.name}: {problem['msg']}{hint and f'.{hint}'}"


def _flat(field: dict[str, Any]) -> dict[str, Any]:
    """Return a field's schema without its title; one that may be None is simply one to leave out."""
    given = [option for option in field.get("anyOf", ()) if option.get("type") != "null"]
    if len(given) == 1:
        field = {
            **given[0],
            **{key: value for key, value in field.items() if key not in ("anyOf", "default")},
        }
    return {key: value for key, value in field.items() if key != "title"}


@overload
def tool(body: ToolBody, /) -> Tool: ...


@overload
def tool(
    *,
    takes_picture: bool = True,
    may_take_long: bool = False,
    needs_page: bool = True,
    sets_off: SetsOff | None = None,
    holds_value: str = "",
    describe: Callable[[ToolContext], str] | None = None,
) -> Callable[[ToolBody], Tool]: ...


def tool(
    body: ToolBody | None = None,
    *,
    takes_picture: bool = True,
    may_take_long: bool = False,
    needs_page: bool = True,
    sets_off: SetsOff | None = None,
    holds_value: str = "",
    describe: Callable[[ToolContext], str] | None = None,
) -> Tool | Callable[[ToolBody], Tool]:
    """Make a :class:`Tool` of an async function: ``@tool`` or ``@tool(takes_picture=False)``.

    The first parameter is the window; the others, with their annotations (``Annotated[str,
    Field(description=...)]``) and defaults, become the schema. One that is annotated with ``ToolContext``
    gets what the tool may know of its attempt, and no model sees it. The docstring becomes the description.

    Without ``sets_off``, guards take a call that may change the page for a click: write ``sets_off=""`` for
    a tool that sets nothing off, and ``"choice"`` or ``"keys"`` for one that chooses or types.
    ``holds_value="text"`` names the parameter by whose argument calls are compared. What ``describe`` returns
    for an attempt is added to the description.

    Raises:
        ValueError: ``holds_value`` is not a parameter.
    """
    by_default: SetsOff = "click" if takes_picture and needs_page else ""

    def make(function: ToolBody) -> Tool:
        # Modules with `from __future__ import annotations` keep their annotations as texts.
        parameters = list(inspect.signature(function, eval_str=True).parameters.values())[1:]
        context_name = next((p.name for p in parameters if p.annotation is ToolContext), "")
        fields: dict[str, Any] = {
            p.name: (p.annotation, ... if p.default is p.empty else p.default)
            for p in parameters
            if p.name != context_name
        }
        name = function.__name__
        model = create_model(
            f"{name}_arguments",
            # Models write 72 where a text is asked for, which can mean nothing else.
            __config__=ConfigDict(extra="forbid", frozen=True, defer_build=True, coerce_numbers_to_str=True),
            **fields,
        )
        description = " ".join((inspect.getdoc(function) or "").split())
        if holds_value and holds_value not in fields:
            raise ValueError(f"holds_value is {holds_value!r}, which is not a parameter of {name}")
        flags = takes_picture, may_take_long, needs_page, by_default if sets_off is None else sets_off
        return Tool(name, description, model, function, *flags, holds_value, context_name, describe)

    return make if body is None else make(body)
