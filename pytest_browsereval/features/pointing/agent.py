"""What agents that point at pictures have in common: what they see, how they act, and when they stop."""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from pytest_browsereval.agents.base import AgentConfig, AgentContext, AgentEvaluator
from pytest_browsereval.browsers.picture_size import size_of
from pytest_browsereval.errors import ErrorSource, Fault, TerminationReason
from pytest_browsereval.features.pointing.actions import (
    ALWAYS,
    KINDS,
    Action,
    BadAction,
    Coordinates,
    Geometry,
    offered,
    tool_calls,
)
from pytest_browsereval.features.pointing.spellings import read_action
from pytest_browsereval.features.shared.tool_loop.loop import Eyes, Picture
from pytest_browsereval.model.results import AgentResult
from pytest_browsereval.redaction.known import beginning
from pytest_browsereval.tools.base import Tool, ToolResult
from pytest_browsereval.tools.toolkit import Toolkit
from pytest_browsereval.tools.toolkits import CATALOG

MAX_BAD_REPLIES = 3
"""Replies without a valid action in a row that end the attempt."""

RAW_LENGTH = 1_000
"""Characters of an action that cannot be performed that are recorded."""


class PointingConfig(AgentConfig):
    """Base of agents that act at points of a picture."""

    coordinates: Coordinates = "normalized"
    """``normalized``: points are on a grid from 0 to 999; ``pixels``: they are pixels of the picture."""

    def check_tools(self, tools: Mapping[str, Tool], kits: Sequence[Toolkit]) -> tuple[str, ...]:
        """Check that the tools that act at points are there.

        Raises:
            ValueError: some are switched off, or the browser brings others.
        """
        needed = dict.fromkeys(tool for name in ALWAYS for tool in KINDS[name].tools)
        if missing := [name for name in needed if name not in tools]:
            kits_of = [kit.key for kit in CATALOG.values() if {*missing} & {*kit.names}]
            switches = ", ".join(f"`{name}: false`" for name in (*kits_of, *missing))
            raise ValueError(
                f"the agent {self.type!r} acts at points of a picture and needs the tools "
                f"{', '.join(missing)}, which are off. Remove what is there of {switches} from "
                "`tools`. If the browser brings tools of its own, write `browser: playwright`, or an agent "
                "of the type single."
            )
        return ()


class PointingAgent(AgentEvaluator):
    """One attempt: it looks at a picture, asks what to do and does it, until the task is ended.

    Args:
        context: of the attempt.
        coordinates: how points are given.
        limit: how many replies there may be, and the key of the config that says so.
    """

    def __init__(self, context: AgentContext, coordinates: Coordinates, limit: tuple[int, str]) -> None:
        self._context = context
        self._coordinates: Coordinates = coordinates
        self._limit = limit
        self._eyes = Eyes(context.capture)
        self._size: tuple[int, int] | None = None

    hint = ""
    """What the warning says of replies without a valid action."""

    # -- what each of them does in its own way

    @abstractmethod
    async def begin(self) -> None:
        """Look at the page for the first time."""

    @abstractmethod
    async def take_turn(self) -> bool:
        """Ask what to do and do it; return whether that was an action."""

    @abstractmethod
    async def look_again(self) -> None:
        """Look at the page after an action."""

    @abstractmethod
    def conclude(self) -> AgentResult:
        """Return what a task came to that was ended."""

    async def close(self) -> None:
        """Close what was opened."""

    async def execute(self) -> AgentResult:
        """Work until the task is ended, no reply is left, or no action is named any more."""
        most, key = self._limit
        bad = 0
        try:
            await self.begin()
            for _ in range(most):
                is_valid = await self.take_turn()
                if self._context.tools.is_done:
                    return self.conclude()
                bad = 0 if is_valid else bad + 1
                if bad == MAX_BAD_REPLIES:
                    self.warn(f"stopped after {bad} replies in a row without a valid action{self.hint}")
                    return AgentResult(None)
                # An action that was refused has changed nothing: the newest picture still holds.
                if is_valid:
                    await self.look_again()
        finally:
            await self.close()
        return AgentResult(None, TerminationReason.MAX_STEPS, note=f"{key} is {most}; all were used")

    def warn(self, message: str) -> None:
        """Record a warning."""
        self._context.capture.add_warning(ErrorSource.AGENT, message)

    # -- what it sees

    @property
    def geometry(self) -> Geometry:
        """Where points of the newest picture are; before there is one, it is as large as the viewport.

        Raises:
            Fault: source *browser*; the browser does not tell its viewport.
        """
        viewport = self._context.window.viewport
        if viewport is None:
            why = "the browser does not give the size of its viewport, so points have no place"
            raise Fault(ErrorSource.BROWSER, why)
        return Geometry(viewport, self._size or viewport, self._coordinates)

    async def see(self) -> Picture | None:
        """Return the page as it is: as it was recorded after the last action, or drawn anew.

        None if it cannot be drawn, which is a warning then.
        """
        picture = await self._eyes.latest() or await self._eyes.first()
        if picture is None:
            return None
        size = size_of(picture.data)
        if size is None:
            raise Fault(ErrorSource.SCREENSHOT, f"the size of a picture ({picture.media_type}) is unknown")
        self._size = size
        return picture

    # -- what it does

    async def act(
        self, name: str, given: Mapping[str, Any], **spelling: Any
    ) -> tuple[Action | None, ToolResult]:
        """Do what a model wrote, by the tools of the attempt, which record, count and limit it.

        Return the action, None if it was none, and what came of it.

        Args:
            name: what it is recorded as if it is no action.
            given: what the model wrote.
            spelling: how it is read; see ``read_action``.

        Raises:
            LimitReached: the attempt has used its steps.
            Fault: the window has died.
        """
        try:
            action = read_action(given, **spelling)
            return action, await self._perform(action)
        except BadAction as error:
            return None, await self.refuse(name, given, str(error))

    async def _perform(self, action: Action) -> ToolResult:
        tools = self._context.tools
        if action.action not in (names := offered({tool.name: tool for tool in tools.tools})):
            raise BadAction(f"{action.action!r} cannot be done here. Actions: {', '.join(names)}")
        pages: list[str] = []
        # One action may take two calls: typing, and Enter.
        for name, arguments in tool_calls(action, self.geometry):
            result = await tools.call(name, arguments)
            pages += [result.page] if result.page else []
            if not result.ok:
                break
        return replace(result, output="\n".join(filter(None, (result.hint, " ".join(pages)))))

    async def refuse(self, name: str, given: object, why: str) -> ToolResult:
        """Record what was no action, as a step, with why.

        Raises:
            LimitReached: the attempt has used its steps.
        """
        text = given if isinstance(given, str) else json.dumps(given, default=str)
        why = why if why.endswith((".", "?")) else f"{why}."
        return await self._context.tools.refuse(name, {"malformed": beginning(text, RAW_LENGTH)}, why)
