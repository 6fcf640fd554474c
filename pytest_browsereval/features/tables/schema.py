"""The columns of the tables, and where each is read: what a file of ours promises to its readers."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Collection, Iterator
from datetime import datetime
from typing import Any, Literal, NamedTuple

from pytest_browsereval.model.causes import Cause
from pytest_browsereval.model.derived import find_outcome
from pytest_browsereval.model.grades import GraderResult, Verdict
from pytest_browsereval.model.messages import (
    DelegationMessage,
    DelegationResultMessage,
    Message,
    ToolCallMessage,
    ToolResultMessage,
)
from pytest_browsereval.model.results import TaskMetadata
from pytest_browsereval.runs.attempt import StoredAttempt
from pytest_browsereval.runs.folder import read_log
from pytest_browsereval.runs.keys import KEYS, Key, Kind
from pytest_browsereval.runs.turns import find_model, parse_time

VERSION = "1"
"""In each file. Columns are only ever added, at the end; raise it if one means something else."""

TableName = Literal["attempts", "grades", "steps", "messages"]

Row = tuple[Any, ...]
"""The values of one row in the order of its table's columns; None is unknown."""


class Attempt(NamedTuple):
    """What is read of an attempt, once for all of its tables."""

    stored: StoredAttempt
    data: TaskMetadata
    messages: tuple[Message, ...]
    damage: str
    """What of its log cannot be read; "" if nothing is damaged."""
    cause: Cause | None
    """Why it did not pass; None as well where its files are not on this machine."""
    is_protected: bool
    """Then texts of the agent, of pages and of graders stay out: tables are copied to where others read."""

    def show(self, text: str | None) -> str | None:
        """Return a text, or None if it has to stay out."""
        return None if self.is_protected else text


class _Grade(NamedTuple):
    of: Attempt
    name: str
    it: GraderResult


class _Step(NamedTuple):
    of: Attempt
    number: int
    call: ToolCallMessage
    result: ToolResultMessage | None


class _Line(NamedTuple):
    of: Attempt
    number: int
    it: Message
    tool: str | None


class Column(NamedTuple):
    """A column: its kind, and what its value is in what a row is made of."""

    kind: Kind
    read: Callable[[Any], Any]


def _of_usage(name: str) -> Callable[[Attempt], int | None]:
    def read(one: Attempt) -> int | None:
        usage = one.data.usage
        # A program whose model calls nobody has counted has no requests, and no cost; requests without any
        # token are those of a server or a program that counts none.
        counted = usage.requests if name == "requests" else usage.input_tokens + usage.output_tokens
        is_counted = counted or (not usage.requests and one.data.cost_usd is not None)
        return getattr(usage, name) if is_counted else None

    return read


def _of_record(key: Key) -> Column:
    return Column(key.kind, lambda one: key.read(one.data))


KEY: dict[str, Column] = {
    "run_id": Column("word", lambda one: one.stored.run.id),
    "eval": Column("word", lambda one: one.stored.run.eval),
    "query_id": Column("text", lambda one: one.stored.query_id),
    "variant": Column("word", lambda one: one.stored.variant),
    "trial": Column("int32", lambda one: one.stored.trial),
    "attempt": Column("int32", lambda one: one.stored.number),
}
"""How each table begins: tables are joined by these."""

OWN: dict[TableName, dict[str, Column]] = {
    "attempts": {
        "counts": Column("bool", lambda one: one.stored.counts),
        "verdict": Column("word", lambda one: one.data.verdict),
        "reason": Column("prose", lambda one: one.show(one.data.reason)),
        "error_source": Column("word", lambda one: one.data.error_source),
        "termination_reason": Column("word", lambda one: one.data.termination_reason),
        "final_answer": Column("prose", lambda one: one.show(one.data.final_answer)),
        "website": Column("word", lambda one: one.data.website),
        "dataset": Column("word", lambda one: one.data.dataset),
        "tags": Column("texts", lambda one: list(one.data.tags)),
        "row_hash": Column("text", lambda one: one.data.row_hash or None),
        "agent_type": Column("word", lambda one: one.data.agent_config.get("type")),
        "model": Column("word", lambda one: find_model(one.data.agent_config)[1]),
        "started_at": Column("time", lambda one: one.data.started_at),
        "completed_at": Column("time", lambda one: one.data.completed_at),
        "total_duration_ms": Column("float", lambda one: one.data.total_duration_ms),
        "agent_duration_ms": Column("float", lambda one: one.data.agent_duration_ms),
        "grading_duration_ms": Column("float", lambda one: one.data.grading_duration_ms),
        "steps": Column("int32", lambda one: one.data.total_steps),
        "screenshots": Column("int32", lambda one: one.data.screenshot_count),
        "warnings": Column("int32", lambda one: len(one.data.warnings) + len(one.data.errors)),
        "input_tokens": Column("int64", _of_usage("input_tokens")),
        "output_tokens": Column("int64", _of_usage("output_tokens")),
        "cache_read_tokens": Column("int64", _of_usage("cache_read_tokens")),
        "cache_write_tokens": Column("int64", _of_usage("cache_write_tokens")),
        "requests": Column("int32", _of_usage("requests")),
        "cost_usd": Column("float", lambda one: one.data.cost_usd),
        "node_id": Column("text", lambda one: one.data.node_id),
        "git_commit": Column("word", lambda one: one.stored.run.manifest.get("git_commit")),
        "config_hash": Column("word", lambda one: one.stored.run.manifest.get("config_hash")),
        "folder": Column("text", lambda one: one.stored.place),
        "protected": Column("bool", lambda one: one.is_protected),
        "attack": Column("word", lambda one: one.data.derived and one.data.derived.name),
        "attack_outcome": Column("word", lambda one: find_outcome(one.data)),
        "cause": Column("word", lambda one: one.cause and one.cause.name),
        "first_wrong_step": Column("int32", lambda one: one.cause and one.cause.step),
        **{key.name: _of_record(key) for key in KEYS},
    },
    "grades": {
        "grader": Column("word", lambda one: one.name),
        "verdict": Column("word", lambda one: one.it.verdict),
        "score": Column("float", lambda one: one.it.score),
        "advisory": Column("bool", lambda one: one.it.advisory),
        "reasoning": Column("prose", lambda one: one.of.show(one.it.reasoning)),
        "criteria": Column("int32", lambda one: len(one.it.criteria)),
        "criteria_passed": Column(
            "int32", lambda one: sum(each.verdict is Verdict.PASSED for each in one.it.criteria)
        ),
        "fingerprint": Column("word", lambda one: one.it.fingerprint or None),
        "cost_usd": Column("float", lambda one: one.it.cost_usd),
        "duration_ms": Column("float", lambda one: one.it.duration_ms),
        "attack": Column("word", lambda one: one.of.data.derived and one.of.data.derived.name),
    },
    "steps": {
        "step": Column("int32", lambda one: one.number),
        "call_id": Column("text", lambda one: one.call.tool_call_id),
        "parent_id": Column("text", lambda one: one.call.parent_id),
        "tool": Column("word", lambda one: one.call.tool),
        "target": Column("prose", lambda one: one.of.show(one.call.params.get("target"))),
        "is_error": Column("bool", lambda one: one.result and one.result.is_error),
        "started_at": Column("time", lambda one: one.call.timestamp),
        "duration_ms": Column("float", lambda one: one.result and one.result.duration_ms),
        "url": Column("prose", lambda one: one.result and one.of.show(one.result.url)),
        "screenshot": Column("int32", lambda one: one.result and one.result.screenshot),
    },
    "messages": {
        "line": Column("int32", lambda one: one.number),
        "type": Column("word", lambda one: one.it.type),
        "timestamp": Column("time", lambda one: one.it.timestamp),
        "span_id": Column("text", lambda one: one.it.span_id),
        "parent_id": Column("text", lambda one: one.it.parent_id),
        "tool": Column("word", lambda one: one.tool),
        "content": Column("prose", lambda one: one.of.show(_read_content(one.it))),
        "duration_ms": Column("float", lambda one: one.it.duration_ms),
        "input_tokens": Column("int64", lambda one: one.it.usage and one.it.usage.input_tokens),
        "output_tokens": Column("int64", lambda one: one.it.usage and one.it.usage.output_tokens),
        "cost_usd": Column("float", lambda one: one.it.usage and one.it.usage.cost_usd),
    },
}

COLUMNS: dict[TableName, dict[str, Kind]] = {
    table: {name: column.kind for name, column in (KEY | own).items()} for table, own in OWN.items()
}
"""The names of columns and their kinds."""


def read_attempt(stored: StoredAttempt, tables: Collection[str]) -> Attempt:
    """Read an attempt.

    Args:
        stored: the attempt.
        tables: that are made of it.

    Raises:
        UsageError: its record is damaged.
    """
    has_log = not {"steps", "messages"}.isdisjoint(tables)
    messages, damage = read_log(stored.folder) if has_log else ((), "")
    # A part of a run at a URL is not fetched for it: records are enough for everything else.
    has_cause = "attempts" in tables and stored.verdict is not Verdict.PASSED and stored.local_folder.is_dir()
    cause = stored.cause if has_cause else None
    return Attempt(stored, stored.metadata, messages, damage, cause, stored.is_protected)


def make_rows(table: TableName, attempt: Attempt) -> Iterator[Row]:
    """Yield the rows of a table that an attempt has."""
    key = [_fit(column.kind, column.read(attempt)) for column in KEY.values()]
    for subject in _SUBJECTS[table](attempt):
        yield (*key, *(_fit(column.kind, column.read(subject)) for column in OWN[table].values()))


def _list_steps(attempt: Attempt) -> Iterator[_Step]:
    results = {one.tool_call_id: one for one in attempt.messages if isinstance(one, ToolResultMessage)}
    calls = (one for one in attempt.messages if isinstance(one, ToolCallMessage))
    for number, call in enumerate(calls, 1):
        yield _Step(attempt, number, call, results.get(call.tool_call_id))


def _list_messages(attempt: Attempt) -> Iterator[_Line]:
    tools = {one.tool_call_id: one.tool for one in attempt.messages if isinstance(one, ToolCallMessage)}
    for number, one in enumerate(attempt.messages, 1):
        call_id = one.tool_call_id if isinstance(one, ToolCallMessage | ToolResultMessage) else ""
        yield _Line(attempt, number, one, tools.get(call_id))


_SUBJECTS: dict[TableName, Callable[[Attempt], Any]] = {
    "attempts": lambda attempt: [attempt],
    "grades": lambda attempt: [_Grade(attempt, *one) for one in attempt.data.grader_results.items()],
    "steps": _list_steps,
    "messages": _list_messages,
}
"""What the rows of a table are made of."""


def _read_content(message: Message) -> str:
    said: Any
    match message:
        case ToolCallMessage():
            said = message.params
        case ToolResultMessage():
            said = message.result
        case DelegationMessage():
            said = message.instruction
        case DelegationResultMessage():
            said = message.summary
        case _:
            said = message.content
    return said if isinstance(said, str) else json.dumps(said, ensure_ascii=False)


_INTEGERS = {"int32": 1 << 31, "int64": 1 << 63}


def _fit(kind: Kind, value: Any) -> Any:
    """Return a value that the column can hold; None if it cannot, for a program may write anything."""
    if value is None or kind == "bool":
        return value
    if kind == "texts":
        return [_fit("text", one) for one in value]
    if kind == "float":
        return value if math.isfinite(value) else None
    if kind == "time":
        found: datetime | None = parse_time(value)
        return None if found is None else round(found.timestamp() * 1000)
    if limit := _INTEGERS.get(kind):
        return value if -limit <= value < limit else None
    # No file holds half of a character.
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else None
