"""Turns of a recorded attempt: each reply of a model with the calls and delegations that it led to."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import chain, repeat
from pathlib import Path
from typing import Any

from pytest_browsereval.model.messages import (
    AssistantMessage,
    DelegationMessage,
    DelegationResultMessage,
    ErrorMessage,
    Message,
    ToolCallMessage,
    ToolResultMessage,
    UserMessage,
)


def parse_time(text: str) -> datetime | None:
    """Return a time of a record, in UTC; None for one that is not known."""
    with suppress(ValueError, OverflowError):  # the latter: out of the years 1 to 9999 in UTC
        found = datetime.fromisoformat(text)
        return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)
    return None


@dataclass(frozen=True)
class StoredStep:
    """A tool call of an attempt, with what came of it."""

    number: int
    """From 1, over all parts of the attempt, in the order of the calls; ``done`` is one as well."""
    call: ToolCallMessage
    result: ToolResultMessage | None
    """None: the attempt ended before."""
    picture: Path | None
    """The page after the call; None if there is no picture of it."""
    thought: str = ""
    """What the model said just before, if it was its first call."""

    @property
    def output(self) -> str:
        """What the tool returned, as a text; empty without a result."""
        if self.result is None:
            return ""
        given = self.result.result
        output = given.get("output", given) if isinstance(given, dict) else given
        return output if isinstance(output, str) else json.dumps(output, ensure_ascii=False)

    @property
    def started_at(self) -> datetime | None:
        """When the call was made."""
        return parse_time(self.call.timestamp)

    @property
    def ended_at(self) -> datetime | None:
        """When its result was there."""
        return parse_time(self.result.timestamp) if self.result else None


@dataclass(frozen=True)
class StoredDelegation:
    """A goal that was handed to an executor, what the executor did, and its report."""

    goal: DelegationMessage
    report: DelegationResultMessage | None
    """None: the attempt ended before."""
    turns: tuple[StoredTurn | UserMessage | ErrorMessage, ...]
    """What the executor did, as in ``StoredAttempt.turns``."""

    @property
    def id(self) -> str:
        """Unique in the attempt: the ``parent_id`` of the executor's lines."""
        return self.goal.span_id or self.goal.executor_id

    @property
    def started_at(self) -> datetime | None:
        """When the goal was handed over."""
        return parse_time(self.goal.timestamp)

    @property
    def ended_at(self) -> datetime | None:
        """When the report was there."""
        return parse_time(self.report.timestamp) if self.report else None


@dataclass(frozen=True)
class StoredTurn:
    """A reply of a model and what it led to; or a single call without a model's reply before it."""

    number: int
    """From 1, over all parts of the attempt, in the order of the log."""
    reply: AssistantMessage | None
    """None: a call of a scripted agent, or of a program whose model calls are not recorded."""
    provider: str | None
    model: str | None
    """That of the agent, or of the executor in a delegation; None if it names none."""
    acts: tuple[StoredStep | StoredDelegation, ...]
    """The calls and delegations of the reply, in their order."""

    @property
    def steps(self) -> tuple[StoredStep, ...]:
        """The tool calls among them."""
        return tuple(act for act in self.acts if isinstance(act, StoredStep))

    @property
    def started_at(self) -> datetime | None:
        """When the model was asked: the log has the time of the reply, and how long it took."""
        if self.reply is None:
            return self.acts[0].started_at
        ended = self.ended_at
        return ended and ended - timedelta(milliseconds=self.reply.duration_ms or 0)

    @property
    def ended_at(self) -> datetime | None:
        """When the reply was there; without one, when the call was over."""
        return self.acts[0].ended_at if self.reply is None else parse_time(self.reply.timestamp)


Entry = StoredTurn | UserMessage | ErrorMessage
"""What happens in an attempt: a turn, something that the agent was given to read, something that broke."""


def find_model(agent: Mapping[str, Any], *, is_executor: bool = False) -> tuple[str | None, str | None]:
    """Return the provider and the name of a model by an agent's block; None for what it does not name.

    Args:
        agent: the block.
        is_executor: whether that of its executor is meant.
    """
    block = agent.get("executor" if is_executor else "orchestrator", {} if is_executor else agent)
    if isinstance(block, Mapping) and isinstance(block.get("model"), Mapping):
        block = block["model"]
    given = (block.get(key) for key in ("provider", "model")) if isinstance(block, Mapping) else (None, None)
    provider, model = (value if isinstance(value, str) else None for value in given)
    return provider, model


@dataclass
class _Turn:
    """A turn that further calls may belong to."""

    number: int
    reply: AssistantMessage | None
    acts: list[ToolCallMessage | DelegationMessage] = field(default_factory=list)


class TurnReader:
    """Puts the lines of a log together.

    Args:
        messages: of the attempt, in their order.
        agent: the block of the agent.
        find_picture: returns the file of a picture by its number.
    """

    def __init__(
        self,
        messages: Iterable[Message],
        agent: Mapping[str, Any],
        find_picture: Callable[[int], Path | None],
    ) -> None:
        self._agent = agent
        self._find_picture = find_picture
        self._parts: dict[str | None, list[_Turn | UserMessage | ErrorMessage]] = {}
        self._turns: dict[str | None, _Turn] = {}
        """The last reply of each part."""
        self._numbers: dict[int, int] = {}
        """Of calls, by the identity of their lines."""
        self._results: dict[str, ToolResultMessage] = {}
        self._reports: dict[str, DelegationResultMessage] = {}
        self._count = 0
        for message in messages:
            self._add(message)

    def _add(self, message: Message) -> None:
        where = message.parent_id
        if isinstance(message, ToolResultMessage):
            self._results[message.tool_call_id] = message
        elif isinstance(message, DelegationResultMessage):
            self._reports[message.span_id or message.executor_id] = message
        elif isinstance(message, ToolCallMessage | DelegationMessage):
            if isinstance(message, ToolCallMessage):
                self._numbers[id(message)] = len(self._numbers) + 1
            turn = self._turns.get(where) or self._begin(where, None)
            turn.acts.append(message)
        elif isinstance(message, AssistantMessage):
            self._turns[where] = self._begin(where, message)
        else:
            self._parts.setdefault(where, []).append(message)
            if isinstance(message, UserMessage):  # what follows it answers it
                self._turns.pop(where, None)

    def _begin(self, where: str | None, reply: AssistantMessage | None) -> _Turn:
        self._count += 1
        turn = _Turn(self._count, reply)
        self._parts.setdefault(where, []).append(turn)
        return turn

    def read(self) -> tuple[Entry, ...]:
        """Return what happened, each delegation with what its executor did.

        Lines of an executor whose delegation is not in the log stand at the end. Call it once.
        """
        found = list(self._take(None))
        while self._parts:
            found += self._take(next(iter(self._parts)))
        return tuple(found)

    def _take(self, where: str | None) -> Iterator[Entry]:
        # Taken out: in a damaged log a delegation may stand in itself.
        entries = self._parts.pop(where, [])
        provider, model = find_model(self._agent, is_executor=where is not None)
        for entry in entries:
            if isinstance(entry, _Turn):
                said = [entry.reply.content] if entry.reply else []
                acts = tuple(map(self._act, entry.acts, chain(said, repeat(""))))
                yield StoredTurn(entry.number, entry.reply, provider, model, acts)
            else:
                yield entry

    def _act(
        self, message: ToolCallMessage | DelegationMessage, thought: str
    ) -> StoredStep | StoredDelegation:
        if isinstance(message, ToolCallMessage):
            result = self._results.get(message.tool_call_id)
            shown = result.screenshot if result else None
            picture = None if shown is None else self._find_picture(shown)
            return StoredStep(self._numbers[id(message)], message, result, picture, thought)
        where = message.span_id or message.executor_id
        return StoredDelegation(message, self._reports.get(where), tuple(self._take(where)))


def read_steps(messages: Iterable[Message]) -> list[StoredStep]:
    """Return the tool calls of a log, in the order of ``StoredAttempt.turns`` and without pictures."""
    return list(list_steps(TurnReader(messages, {}, lambda _: None).read()))


def list_steps(entries: Iterable[Entry]) -> Iterator[StoredStep]:
    """Yield the tool calls of an attempt, those of its executors where these were asked."""
    for entry in entries:
        for act in entry.acts if isinstance(entry, StoredTurn) else ():
            if isinstance(act, StoredStep):
                yield act
            else:
                yield from list_steps(act.turns)
