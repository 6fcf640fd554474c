"""A tool, its output contract, and the toolbox that an attempt calls tools through.

Contract: every tool returns either a plain sentence or the envelope ``{"ok": bool, "output": str}``,
one of the two for each tool, and never raises. Ours return the envelope (:class:`ToolResult`).
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Protocol, overload

from pydantic import BaseModel, ConfigDict, JsonValue, ValidationError, create_model

from pytest_browsereval.capture.context import BRIEF, CaptureContext, ToolCall
from pytest_browsereval.errors import (
    PLUGIN_ERRORS,
    ErrorSource,
    Fault,
    LimitReached,
    TerminationReason,
    is_given_up,
    name_raised,
    nearest,
)
from pytest_browsereval.model.messages import Hit
from pytest_browsereval.model.spans import in_span
from pytest_browsereval.model.tasks import Task

DONE = "done"
"""The tool that ends an attempt with its answer."""

GIVE_UP = "give_up"
"""The tool that ends a delegation whose goal cannot be reached; only executors have it."""

ENDINGS = (DONE, GIVE_UP)
"""Tools that end the work; calls of them are no steps."""

KEY_S = 0.02
"""How long one typed character may take."""


@dataclass(frozen=True)
class ToolResult:
    """The envelope."""

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
        """The rest of the output: what the tool said, with whatever a page has written."""
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
    context_name: str = ""
    """The parameter of the body that gets the attempt's ``ToolContext``; empty if it has none."""

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON schema of the arguments: an object, flat, with no titles."""
        # A copy: clients and plug-ins may change what they are handed.
        return deepcopy(self._schema)

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
        return replace(self, body=body, context_name="")

    def check_arguments(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments as the body takes them: checked, converted, defaults filled in.

        Raises:
            ValueError: they are not what the schema says; the message tells each problem.
        """
        try:
            model = self.arguments.model_validate(arguments)
        except ValidationError as error:
            problems = (f"{'.'.join(map(str, e['loc'])) or self.name}: {e['msg']}" for e in error.errors())
            raise ValueError("; ".join(problems)) from None
        return {field: getattr(model, field) for field in type(model).model_fields}


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
    *, takes_picture: bool = True, may_take_long: bool = False, needs_page: bool = True
) -> Callable[[ToolBody], Tool]: ...


def tool(
    body: ToolBody | None = None,
    *,
    takes_picture: bool = True,
    may_take_long: bool = False,
    needs_page: bool = True,
) -> Tool | Callable[[ToolBody], Tool]:
    """Make a :class:`Tool` of an async function: ``@tool`` or ``@tool(takes_picture=False)``.

    The first parameter is the window; the others, with their annotations (``Annotated[str,
    Field(description=...)]``) and defaults, become the schema. One that is annotated with ``ToolContext``
    gets what the tool may know of its attempt, and no model sees it. The docstring becomes the description.
    """

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
        flags = takes_picture, may_take_long, needs_page
        return Tool(name, description, model, function, *flags, context_name)

    return make if body is None else make(body)


class ToolRunner(Protocol):
    """Runs a tool's body in a window, with whatever the window has to watch over meanwhile."""

    async def __call__(self, tool: Tool, arguments: dict[str, Any]) -> ToolResult:
        """Return the envelope. Never raises for what the page did.

        Raises:
            Fault: the window has died, so that nothing can work in it again.
        """


class Guard(Protocol):
    """Decides about calls before they are made."""

    async def __call__(self, name: str, arguments: Mapping[str, Any]) -> str | None:
        """Return why a call is refused, for the agent to read; None lets it pass.

        Raises:
            Fault: the guard itself broke.
        """


class Toolbox:
    """The tools of one attempt: records, counts and limits every call.

    Args:
        tools: the tools that are switched on, by unique names.
        run: runs a tool's body in the window.
        capture: records the calls.
        context: what tools may know of the attempt; None if no tool asks for it.
        max_steps: how many calls the attempt may make; ``done`` is not counted.
        outer: the toolbox that this one is nested in; its limits hold as well, and come first.
    """

    def __init__(
        self,
        tools: Sequence[Tool],
        run: ToolRunner,
        capture: CaptureContext,
        *,
        context: ToolContext | None = None,
        max_steps: int | None = None,
        outer: Toolbox | None = None,
    ) -> None:
        self._outer = outer
        self.guard: Guard | None = None if outer is None else outer.guard
        """Asked before a call is made; a reason refuses it."""
        self._tools: Mapping[str, Tool] = {tool.name: tool.bind(context) for tool in tools}
        self._run = run
        self._capture = capture
        self._context = context
        self._max_steps = max_steps
        self.answer: str | None = None
        """What ``done`` was called with."""
        self.is_done = False
        """True once ``done`` or ``give_up`` was called."""
        self.gave_up: str | None = None
        """Why ``give_up`` was called."""

    def nest(
        self, capture: CaptureContext, *, max_steps: int | None = None, more: Sequence[Tool] = ()
    ) -> Toolbox:
        """Return a toolbox for a part of the attempt: an answer and a limit of its own, the same window.

        Args:
            capture: counts the part's calls, and passes them on to the attempt's.
            max_steps: how many calls the part may make; beyond it a call raises ``LimitReached``.
            more: tools of the part alone; one that is named like another stands in for it.
        """
        tools = {**self._tools, **{tool.name: tool for tool in more}}
        context = self._context
        return Toolbox(
            tuple(tools.values()), self._run, capture, context=context, max_steps=max_steps, outer=self
        )

    @property
    def max_steps(self) -> int | None:
        """How many calls may be made in all; None: as many as it takes."""
        limits = (self._max_steps, None if self._outer is None else self._outer.max_steps)
        return min((limit for limit in limits if limit is not None), default=None)

    @property
    def tools(self) -> tuple[Tool, ...]:
        """The tools that are switched on."""
        return tuple(self._tools.values())

    async def call(self, name: str, arguments: dict[str, Any] | None = None) -> ToolResult:
        """Run a tool by its name and record the call.

        Args:
            name: the tool's name; an unknown one gives ``ok: false`` with the nearest name.
            arguments: as its schema says; wrong ones give ``ok: false`` with what is wrong.

        Raises:
            LimitReached: the attempt has used its steps.
            Fault: the window has died.
        """
        arguments = dict(arguments or {})
        if name not in ENDINGS and (why := self._capture.sizes.refusal(arguments)):
            # Never called: its arguments could not be recorded as they are.
            return await self.refuse(name, arguments, why)
        # An ending that this agent does not have is a wrong call like any other, and counts.
        is_step = name not in ENDINGS or name not in self._tools
        call = await self._begin(name, arguments, is_step=is_step)
        fault: Fault | None = None
        try:
            with in_span(f"call/{call.call_id}"):
                result = await self._try(name, arguments, self.guard)
            if alter := self._capture.window.alter_result:
                result = replace(result, output=alter(name, result.output))
        except asyncio.CancelledError:
            why = str(self._capture.limits.find() or "it was cancelled")
            cut = ToolResult(ok=False, output=f"{name} was cut off: {why}.")
            await self._capture.after_tool_call(call, cut.as_json(), is_error=True, picture=False)
            raise
        except Fault as error:
            fault, result = error, ToolResult(ok=False, output=str(error))
        result = replace(result, output=self._capture.sizes.fit(result.output))
        known = self._tools.get(name)
        await self._capture.after_tool_call(
            call,
            result.as_json(),
            is_error=not result.ok,
            picture=fault is None and (known is None or known.takes_picture),
            why=result.raised,
            hit=result.hit,
        )
        # Raised only now: the log has to show the call that the window died in.
        if fault is not None:
            raise fault
        return result

    async def refuse(self, name: str, arguments: dict[str, Any], why: str) -> ToolResult:
        """Record and count a call that cannot be made, because its arguments are not JSON for example.

        Raises:
            LimitReached: the attempt has used its steps.
        """
        call = await self._begin(name, arguments, is_step=True)
        result = ToolResult.refusal(why)
        await self._capture.after_tool_call(call, result.as_json(), is_error=True, picture=False)
        return result

    async def record(
        self, name: str, arguments: dict[str, Any], result: JsonValue, *, is_error: bool = False
    ) -> None:
        """Record and count a step that was taken past the tools, by a program that drives the page itself.

        Raises:
            LimitReached: the attempt has used its steps.
        """
        call = await self._begin(name, arguments, is_step=True)
        await self._capture.after_tool_call(call, result, is_error=is_error)

    async def peek(self, name: str, arguments: dict[str, Any] | None = None) -> ToolResult:
        """Run a tool without recording it: what the harness itself looks at.

        Raises:
            Fault: the window has died.
        """
        await self._capture.settle()
        result = await self._try(name, dict(arguments or {}))
        if result.raised:
            self._capture.add_warning(ErrorSource.TOOL, result.raised)
        return result

    async def _begin(self, name: str, arguments: dict[str, Any], *, is_step: bool) -> ToolCall:
        await self._capture.settle()  # first: between the check and the count nobody else may begin
        await self._capture.limits.admit()
        if is_step:
            self.check_steps()
        return await self._capture.before_tool_call(name, arguments, is_step=is_step)

    def _end(self, name: str, values: Mapping[str, Any]) -> ToolResult:
        self.is_done = True
        if name == GIVE_UP:
            self.gave_up = values["reason"]
            return ToolResult(ok=True, output="The goal was given up.")
        self.answer = values["answer"]
        return ToolResult(ok=True, output="The task is over.")

    def check_steps(self) -> None:
        """Check that a step may be taken.

        Raises:
            LimitReached: all that were allowed are used.
        """
        if self._outer is not None:
            self._outer.check_steps()
        limit = self._max_steps
        if limit is not None and self._capture.steps >= limit:
            what = "limits.max_steps is {}" if self._outer is None else "{} steps were allowed"
            why = f"{what.format(limit)}; all were used"
            raise self._capture.limits.reach(LimitReached(TerminationReason.MAX_STEPS, why))

    async def _try(self, name: str, arguments: dict[str, Any], guard: Guard | None = None) -> ToolResult:
        known = self._tools.get(name)
        if known is None:
            known_names = ", ".join(self._tools)
            return ToolResult.refusal(
                f"unknown tool {name!r:.80}.{nearest(name, self._tools)} Tools: {known_names}."
            )
        try:
            try:
                values = known.check_arguments(arguments)
            except ValueError as error:
                return ToolResult.refusal(f"wrong arguments for {name}: {error}")
            if guard is not None and (why := await guard(name, values)) is not None:
                return ToolResult.refusal(why)
            return self._end(name, values) if name in ENDINGS else await self._run(known, values)
        except (Fault, LimitReached):
            raise
        except ToolError as error:
            return ToolResult(ok=False, output=str(error))
        except PLUGIN_ERRORS as error:  # a tool must never throw into an agent
            if is_given_up(error):
                raise
            kind = name_raised(error)
            return ToolResult(
                ok=False, output=str(error) or kind, raised=f"{name} raised {kind}: {error!s:.{BRIEF}}"
            )
