"""The tool loop: a model calls tools until it has an answer."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from pytest_browsereval.capture.context import CaptureContext
from pytest_browsereval.errors import ErrorSource, Fault
from pytest_browsereval.features.shared.tool_loop.call_text import WRITTEN_CALL, is_written_call
from pytest_browsereval.features.shared.tool_loop.conversation import Conversation
from pytest_browsereval.features.shared.tool_loop.selection import Focus, Offer
from pytest_browsereval.llm.client import ChatClient
from pytest_browsereval.llm.completion import CUT, Completion, ToolRequest
from pytest_browsereval.model.messages import AssistantMessage
from pytest_browsereval.redaction.known import beginning
from pytest_browsereval.tools.base import ENDINGS, Tool, ToolResult
from pytest_browsereval.tools.toolkit import Turn

MAX_BAD_ENDINGS = 3
"""How many times an attempt may be ended with wrong arguments; such calls are not steps, so no limit
meets them."""

MAX_UNREADABLE = 10
"""How many replies in a row may hold no call that can be read; a model that only talks uses up its steps."""

RAW_LENGTH = 1_000
"""Characters of malformed arguments that are recorded."""

EMPTY = "Your reply was empty. Go on with a tool, or finish with done(answer)."
TOO_LONG = "Your reply was cut off: it was too long. Go on with fewer words, or finish with done(answer)."
WRITTEN = "You wrote a call as text, so nothing was called. Call the tool, or finish with done(answer)."
NEEDED = "Call one of your tools now: this turn needs a call. If all is done, call done(answer)."


class Tools(Protocol):
    """What the loop needs of a toolbox."""

    @property
    def tools(self) -> tuple[Tool, ...]:
        """The tools that the model may call."""

    @property
    def is_done(self) -> bool:
        """True once the finishing tool was called."""

    @property
    def answer(self) -> str | None:
        """What it was called with."""

    async def call(self, name: str, arguments: dict[str, Any] | None = None) -> ToolResult:
        """Run a tool."""

    async def refuse(self, name: str, arguments: dict[str, Any], why: str) -> ToolResult:
        """Record a call that cannot be made."""


@dataclass
class Turns:
    """Counts the replies of a model."""

    limit: int
    used: int = 0

    @property
    def left(self) -> int:
        """How many are left."""
        return max(0, self.limit - self.used)


@dataclass(frozen=True)
class Picture:
    """A picture of the page."""

    data: bytes
    media_type: str


class Eyes:
    """Shows the model the page after each turn: the picture that was recorded, or one of its own."""

    def __init__(self, capture: CaptureContext) -> None:
        self._capture = capture
        self._seen = capture.screenshot.count

    async def first(self) -> Picture | None:
        """Return a picture of the page as it is, which is not recorded; None if it cannot be drawn."""
        config = self._capture.config
        try:
            data = await self._capture.window.screenshot(config.picture, config.quality)
        except Fault as error:
            self._capture.add_warning(ErrorSource.SCREENSHOT, f"no picture for the model: {error}")
            return None
        return Picture(data, f"image/{config.picture}")

    async def latest(self) -> Picture | None:
        """Return the picture after the last call, None if the page was not drawn anew."""
        # Nothing is recorded after calls then, so the page is drawn for the model alone.
        if self._capture.config.screenshots in ("off", "final"):
            return await self.first()
        await self._capture.settle()
        shots = self._capture.screenshot
        if shots.count == self._seen:
            return None
        self._seen = shots.count
        try:
            data = await asyncio.to_thread(shots.path(shots.count).read_bytes)
        except OSError as error:
            self._capture.add_warning(ErrorSource.SCREENSHOT, f"a picture cannot be read again: {error}")
            return None
        return Picture(data, f"image/{self._capture.config.picture}")


class ToolLoop:
    """Asks the model, runs what it asks for, and asks again.

    Args:
        client: the model.
        tools: what it may call.
        capture: records what it says and what that costs.
        conversation: begins with the system text and the task.
        eyes: shows it pictures; None for a model that takes none.
        turns: counts its replies and limits them; None: limits of the attempt are all there is.
    """

    def __init__(
        self,
        client: ChatClient,
        tools: Tools,
        capture: CaptureContext,
        conversation: Conversation,
        *,
        eyes: Eyes | None = None,
        turns: Turns | None = None,
    ) -> None:
        self.focus = Focus(tools.tools)
        """Decides which tools a turn offers: all, in every turn, unless it is set."""
        self._turns = turns
        self._client = client
        self._tools = tools
        self._capture = capture
        self._conversation = conversation
        self._eyes = eyes
        self._specs = {tool.name: spec(tool) for tool in tools.tools}
        self._bad_endings = 0
        self._unreadable = 0
        self.is_out_of_turns = False
        """True once ``run`` has returned for want of turns."""
        self._number = 1
        self._called: tuple[str, ...] = ()
        self._offer = Offer(frozenset())

    async def run(self) -> str | None:
        """Return the answer: what ``done`` was called with, or a reply of text without a call.

        None if the turns ran out before.

        Raises:
            LimitReached: steps, tokens or money ran out.
            Fault: the provider or the browser broke.
        """
        async with self._capture.going_ahead():  # the page is touched by tools alone
            return await self._run()

    async def _run(self) -> str | None:
        is_nudged = False
        while self._turns is None or self._turns.left:
            reply = await self._ask()
            text, is_cut = reply.text.strip(), reply.finish_reason == CUT
            is_written = is_written_call(text or reply.reasoning, self._specs)
            # Whether the turn has to call a tool: servers may not know, or not heed, the wish.
            needs_call = self._offer.tool_choice == "required"
            if reply.tool_calls:
                is_nudged = False
                await self._perform(reply.tool_calls)
                if self._tools.is_done:
                    return self._tools.answer
                if self._cannot_finish(reply.tool_calls) or self._is_lost(reply.tool_calls):
                    return None if is_cut else text or None
            elif text and not is_cut and not is_written and (is_nudged or not needs_call):
                return text
            elif is_nudged:
                ending = "a cut-off reply" if is_cut else WRITTEN_CALL if is_written else "an empty reply"
                self._warn(f"the model ended twice with {ending}")
                return None
            else:
                # One reminder: models end without a call by mistake, and a second time they mean it.
                is_nudged = True
                said = WRITTEN if is_written else NEEDED if text else EMPTY
                self._conversation.add_user(TOO_LONG if is_cut else said)
        self.is_out_of_turns = True
        return None

    async def _ask(self) -> Completion:
        self._offer = self.focus.offer(Turn(self._number, self._called))
        tools = [self._specs[name] for name in self._offered()]
        choice = self._offer.tool_choice if self.focus.sends_choice and tools else None
        with self._capture.asking():
            reply = await self._client.complete(
                self._conversation.messages, tools=tools, tool_choice=choice, role=self._capture.role
            )
        self._number += 1
        self._called = tuple(request.name for request in reply.tool_calls)
        if self._turns is not None:
            self._turns.used += 1
        log_reply(self._capture, reply)
        # Providers refuse a conversation with an empty message in it.
        if reply.text.strip() or reply.tool_calls:
            self._conversation.add_reply(reply)
        # Last, since it raises at the limit: the reply is recorded by then.
        self._capture.spend(reply.usage)
        return reply

    async def _perform(self, requests: Sequence[ToolRequest]) -> None:
        for request in requests:
            if request.arguments is None:
                raw = {"malformed": beginning(request.raw, RAW_LENGTH)}
                result = await self._tools.refuse(request.name, raw, request.problem)
            elif request.name in self._specs and request.name not in self._offer.names:
                why = f"{request.name} is not offered now. Tools: {', '.join(self._offered())}."
                result = await self._tools.refuse(request.name, request.arguments, why)
            else:
                result = await self._tools.call(request.name, request.arguments)
            # Calls after the end would change the page that graders are about to look at.
            if self._tools.is_done:
                return
            self._conversation.add_result(request.id, *result.for_model())
        picture = await self._eyes.latest() if self._eyes else None
        if picture is not None:
            self._conversation.add_picture(picture.data, picture.media_type, "The page after that:")

    def _offered(self) -> list[str]:
        return [name for name in self._specs if name in self._offer.names]

    def _cannot_finish(self, requests: Sequence[ToolRequest]) -> bool:
        endings = [tool.name for tool in self._tools.tools if tool.name in ENDINGS]
        if any(request.name not in endings for request in requests):
            return False
        self._bad_endings += 1
        if self._bad_endings < MAX_BAD_ENDINGS:
            return False
        self._warn(f"the model ended {MAX_BAD_ENDINGS} times with wrong arguments and was stopped")
        return True

    def _is_lost(self, requests: Sequence[ToolRequest]) -> bool:
        is_readable = any(request.arguments is not None for request in requests)
        self._unreadable = 0 if is_readable else self._unreadable + 1
        if self._unreadable < MAX_UNREADABLE:
            return False
        self._warn(f"{MAX_UNREADABLE} replies in a row held no call that could be read, so it was stopped")
        return True

    def _warn(self, message: str) -> None:
        self._capture.add_warning(ErrorSource.AGENT, message)


def log_reply(capture: CaptureContext, reply: Completion) -> None:
    """Record what a model said; what it cost is spent once the conversation has the reply."""
    thought, usage, duration_ms = reply.reasoning or None, reply.usage, reply.duration_ms
    said = AssistantMessage(content=reply.text, reasoning=thought, usage=usage, duration_ms=duration_ms)
    capture.log(said)
    if reply.retries:
        capture.add_warning(ErrorSource.PROVIDER, f"the model answered only on try {reply.retries + 1}")


def spec(tool: Tool) -> dict[str, Any]:
    """Return a tool as chat completions describe one."""
    return {
        "type": "function",
        "function": {"name": tool.name, "description": tool.description, "parameters": tool.schema},
    }
