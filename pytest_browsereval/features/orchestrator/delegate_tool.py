"""The orchestrator's two tools: ``delegate`` and ``done``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field, StringConstraints

from pytest_browsereval.agents.base import AgentContext
from pytest_browsereval.browsers.base import Window
from pytest_browsereval.capture.context import CaptureContext
from pytest_browsereval.errors import nearest
from pytest_browsereval.features.orchestrator.delegation import Delegation, Report
from pytest_browsereval.features.shared.tool_loop.loop import Turns
from pytest_browsereval.tools.base import DONE, Tool, ToolResult, tool
from pytest_browsereval.tools.finish import done

if TYPE_CHECKING:
    from pytest_browsereval.features.orchestrator.agent import OrchestratorExecutorConfig

Goal = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=50_000)]


@tool(takes_picture=False)
async def delegate(
    window: Window,
    instruction: Annotated[Goal, Field(description="The goal, with all that is needed to reach it.")],
) -> str:
    """Hand one goal to an executor, who sees the browser; returns its report."""
    del window
    return instruction


@dataclass
class Delegator:
    """What the loop of an orchestrator needs of a toolbox; calls of it are recorded, and are no steps."""

    context: AgentContext
    """The attempt's."""
    config: OrchestratorExecutorConfig
    """The agent's block: who executes, and how much executors may use."""
    capture: CaptureContext
    """The orchestrator's recorder."""
    turns: Turns
    """Of the orchestrator: one goal a turn."""
    begun: int = 0
    """How many goals were delegated."""
    turn_of_last: int = 0
    """The turn in which the latest one was."""
    actions: int = 0
    """Tool calls of all executors so far."""
    is_done: bool = False
    """True once ``done`` was called."""
    answer: str | None = None
    """What it was called with."""
    last: Report | None = None
    """The latest report."""

    @property
    def tools(self) -> tuple[Tool, ...]:
        """The tools that the orchestrator may call."""
        return (delegate, done)

    async def call(self, name: str, arguments: dict[str, Any] | None = None) -> ToolResult:
        """Delegate, or take the answer; anything else is refused.

        Raises:
            Fault: something broke, be it an executor's own code.
            LimitReached: a limit of the attempt ended it.
        """
        given = arguments or {}
        known = {each.name: each for each in self.tools}
        if name not in known:
            why = f"unknown tool {name!r:.80}.{nearest(name, known)} Tools: {', '.join(known)}."
            return await self.refuse(name, given, why)
        try:
            values = known[name].check_arguments(given)
        except ValueError as error:
            return await self.refuse(name, given, f"wrong arguments for {name}: {error}")
        if name == DONE:
            self.is_done, self.answer = True, values["answer"]
            return await self._recorded(name, given, ToolResult(ok=True, output="The task is over."))
        if objection := self._objection():
            return await self.refuse(name, given, objection)
        return await self._delegated(values["instruction"])

    async def refuse(self, name: str, arguments: dict[str, Any], why: str) -> ToolResult:
        """Record a call that cannot be made."""
        return await self._recorded(name, arguments, ToolResult.refusal(why))

    async def _recorded(self, name: str, arguments: dict[str, Any], result: ToolResult) -> ToolResult:
        # Steps are what happens to the page: executors count theirs.
        call = await self.capture.before_tool_call(name, arguments, is_step=False, picture=False)
        await self.capture.after_tool_call(call, result.as_json(), is_error=not result.ok, picture=False)
        return result

    def _objection(self) -> str | None:
        # Goals of one reply were written without knowing what came of the first.
        if self.turn_of_last == self.turns.used:
            return "One goal at a time: read the report of the one in this reply, then delegate again."
        if self.actions >= (most := self.config.max_actions):
            return f"status: max_steps\nmax_actions is {most}; all were used. Finish with done(answer)."
        return None

    async def _delegated(self, instruction: str) -> ToolResult:
        self.turn_of_last = self.turns.used
        self.begun += 1
        left, config = self.config.max_actions - self.actions, self.config
        delegation = Delegation(
            self.context,
            config.executor,
            f"executor-{self.begun}",
            max_steps=min(left, config.max_steps_per_delegation or left),
            timeout_s=config.delegation_timeout_s,
        )
        try:
            self.last = report = await delegation.run(instruction)
        finally:
            # Also where the executor raised: its steps are used.
            self.actions += delegation.capture.steps
        turns = self.turns.left
        lines = [
            f"status: {report.status}",
            f"steps: {report.steps_used}",
            f"turns left: {turns}{'; finish with done(answer)' if turns == 1 else ''}",
            *([f"note: {report.note}"] if report.note else []),
        ]
        hint = "\n".join(lines)
        return ToolResult(ok=report.status == "done", output=f"{hint}\n{_said(report)}", hint=hint)


def _said(report: Report) -> str:
    """Return what comes from the page or the executor, which has read pages."""
    lines = [f"url: {report.url or 'none'}"]
    lines += [f"the last that it said: {report.last_words}"] if report.last_words else []
    return "\n".join([*lines, f"report: {report.words or 'none'}"])
