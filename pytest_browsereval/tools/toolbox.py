"""The toolbox that an attempt calls tools through: it records, counts and limits every call."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import replace
from typing import Any

from pydantic import JsonValue

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
from pytest_browsereval.tools.base import ENDINGS, GIVE_UP, SetsOff, Tool, ToolContext, ToolError, ToolResult
from pytest_browsereval.tools.variables import find_value

ToolRunner = Callable[[Tool, dict[str, Any]], Awaitable[ToolResult]]
"""Runs a tool's body in a window and returns the envelope. Raises ``Fault`` once the window has died, and
nothing for what the page did."""

Guard = Callable[[str, Mapping[str, Any], SetsOff], Awaitable[str | None]]
"""Asked before a call is made, with the tool's name, its arguments and its ``sets_off``; a reason refuses the
call, for the agent to read. Raises ``Fault`` where the guard itself broke."""


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
        self.fills_variables: bool = outer is None or outer.fills_variables
        """Whether a call that types ``${NAME}`` types the value of that variable."""
        self.answer: str | None = None
        """What ``done`` was called with."""
        self.is_done = False
        """True once ``done`` or ``give_up`` was called."""
        self.unawaited: list[str] = []
        """Tools that were called without `await`: nothing has happened."""
        self.gave_up: str | None = None
        """Why ``give_up`` was called."""

    def nest(
        self, capture: CaptureContext, *, max_steps: int | None = None, more: Sequence[Tool] = ()
    ) -> Toolbox:
        """Return a toolbox for a part of the attempt: an answer and a limit of its own, the same window.

        Args:
            capture: counts the part's calls, and passes them on to the attempt's.
            max_steps: how many calls the part may make; beyond it a call raises ``LimitReached``.
            more: tools of the part alone; one that is named like another replaces it.
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

    def call(
        self, name: str, arguments: dict[str, Any] | None = None, **more: object
    ) -> Coroutine[Any, Any, ToolResult]:
        """Run a tool by its name and record the call, once it is awaited.

        Args:
            name: the tool's name; an unknown one gives ``ok: false`` with the nearest name.
            arguments: as its schema says; wrong ones give ``ok: false`` with what is wrong.
            more: is refused.

        Raises:
            LimitReached: the attempt has used its steps.
            Fault: the window has died.
            TypeError: arguments are not in one dict.
        """
        if more:
            given = json.dumps({**(arguments or {}), **more}, default=repr)
            raise TypeError(f"the arguments of a tool are one dict. Write call({name!r}, {given})")
        self.unawaited.append(name)
        return self._call(name, arguments)

    async def _call(self, name: str, arguments: dict[str, Any] | None) -> ToolResult:
        self.unawaited.remove(name)
        arguments = dict(arguments or {})
        if name not in ENDINGS and (why := self._capture.sizes.refusal(arguments)):
            # Never called: its arguments could not be recorded as they are.
            return await self.refuse(name, arguments, why)
        # An ending that this agent does not have is a wrong call like any other, and counts.
        is_step = name not in ENDINGS or name not in self._tools
        call = await self._begin(name, arguments, is_step=is_step)
        fault: Fault | None = None
        try:
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

    def check_awaited(self) -> None:
        """Check that each call was awaited: an answer would be graded as if the agent had acted.

        Raises:
            Fault: one was not.
        """
        if lost := self.unawaited:
            fix = f"`await context.tools.call({lost[0]!r}, ...)`"
            raise Fault(ErrorSource.AGENT, f"the agent called {lost[0]} and never awaited it. Write {fix}.")

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
        """Record and count a step that was taken without the tools, by a program that drives the page itself.

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
        holds = known.holds_value or None if (known := self._tools.get(name)) else None
        return await self._capture.before_tool_call(name, arguments, is_step=is_step, holds_value=holds)

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

    async def _act(self, known: Tool, values: dict[str, Any]) -> ToolResult:
        url = self._capture.window.url
        value = find_value(known.name, values, self._context, url) if self.fills_variables else None
        if value is None:
            return await self._run(known, values)
        result = await self._run(known, {**values, "text": value})
        return replace(result, output=result.output.replace(value, str(values["text"])))

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
            if guard is not None and (why := await guard(name, values, known.sets_off)) is not None:
                return ToolResult.refusal(why)
            return self._end(name, values) if name in ENDINGS else await self._act(known, values)
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
