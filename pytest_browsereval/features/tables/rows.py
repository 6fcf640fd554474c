"""Rows of the tables, made of attempts."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from pytest_browsereval.analysis.reader import StoredAttempt, StoredRun
from pytest_browsereval.analysis.turns import find_model, parse_time
from pytest_browsereval.capture.trajectory import open_written
from pytest_browsereval.features.tables.schema import Row, TableName
from pytest_browsereval.model.attacks import find_outcome
from pytest_browsereval.model.grades import Verdict
from pytest_browsereval.model.messages import (
    DelegationMessage,
    DelegationResultMessage,
    Message,
    ToolCallMessage,
    ToolResultMessage,
)
from pytest_browsereval.model.results import TaskMetadata
from pytest_browsereval.run.reading import work_ahead
from pytest_browsereval.run.records import RECORD
from pytest_browsereval.run.stored import LOG_FILE, read_log

Rows = dict[TableName, list[Row]]
"""Of an attempt, by table."""

AHEAD = 1
"""Attempts that a thread reads at once: the logs of 32 of them wait in memory, and may be large."""


@dataclass(frozen=True)
class Stored:
    """What is read of an attempt, once for all tables."""

    attempt: StoredAttempt
    key: Row
    """The columns that each table begins with."""
    metadata: TaskMetadata
    messages: tuple[Message, ...]
    is_protected: bool
    """Then texts of the agent, of pages and of graders stay out: tables are copied to where others read."""

    def show(self, text: str | None) -> str | None:
        """Return a text, or None if it has to stay out."""
        return None if self.is_protected else text


def read_rows(
    run: StoredRun,
    tables: Collection[TableName],
    lost: list[str] | None = None,
    attempts: Iterable[StoredAttempt] | None = None,
) -> Iterator[Rows]:
    """Yield the rows of each attempt, by table.

    Args:
        run: whose rows.
        tables: which ones.
        lost: gets a line for each attempt whose log cannot be read to its end.
        attempts: which ones of the run; all by default.

    Raises:
        UsageError: a record is damaged.
    """
    has_log = not {"steps", "messages"}.isdisjoint(tables)
    name, root = run.eval, str(run.files)

    # Threads wait for the disk alone: Python's lock makes them slower at all else.
    def read(attempt: StoredAttempt) -> Iterable[tuple[StoredAttempt, bytes | None, bytes | None]]:
        folder = f"{root}/{attempt.place}"
        return [
            (
                attempt,
                _try_reading(f"{folder}/{RECORD}"),
                _try_reading(f"{folder}/{LOG_FILE}") if has_log else b"",
            )
        ]

    for attempt, record, log in work_ahead(read, run.attempts if attempts is None else attempts, AHEAD):
        metadata, data = _parse_record(record) or attempt.metadata, attempt.digest
        key = run.id, name, data.query_id, data.variant, data.trial, data.attempt
        is_protected = metadata.protected
        if is_protected is None:  # a record of an earlier version
            is_protected = attempt.is_protected
        messages, damage = read_log(attempt.folder, log)
        if damage and lost is not None:
            lost.append(f"{data.query_id}: {damage}")
        stored = Stored(attempt, key, metadata, messages, is_protected)
        yield {table: list(_MAKERS[table](stored)) for table in tables}


def _try_reading(path: str) -> bytes | None:
    with suppress(OSError), open_written(path) as file:
        return file.read()
    return None


def _parse_record(content: bytes | None) -> TaskMetadata | None:
    with suppress(ValidationError):
        return None if content is None else TaskMetadata.model_validate_json(content)
    return None


def _attempts(stored: Stored) -> Iterator[Row]:
    data, attempt, manifest = stored.metadata, stored.attempt, stored.attempt.run.manifest
    usage = data.usage
    # A program whose model calls nobody has counted has no requests, and no cost.
    is_counted = bool(usage.requests) or data.cost_usd is not None
    agent_type = data.agent_config.get("type")
    yield (
        *stored.key,
        attempt.counts,
        str(data.verdict),
        stored.show(data.reason),
        data.error_source and str(data.error_source),
        str(data.termination_reason),
        stored.show(data.final_answer),
        data.website,
        data.dataset,
        list(data.tags),
        data.row_hash or None,
        agent_type if isinstance(agent_type, str) else None,
        find_model(data.agent_config)[1],
        _time(data.started_at),
        _time(data.completed_at),
        data.total_duration_ms,
        data.agent_duration_ms,
        data.grading_duration_ms,
        data.total_steps,
        data.screenshot_count,
        data.warning_count,
        usage.input_tokens if is_counted else None,
        usage.output_tokens if is_counted else None,
        usage.cache_read_tokens if is_counted else None,
        usage.requests if is_counted else None,
        data.cost_usd,
        data.node_id,
        _text(manifest.get("git_commit")),
        _text(manifest.get("config_hash")),
        attempt.place,
        stored.is_protected,
        data.attack,
        str(outcome) if (outcome := find_outcome(data)) else None,
    )


def _grades(stored: Stored) -> Iterator[Row]:
    for name, grade in stored.metadata.grader_results.items():
        yield (
            *stored.key,
            name,
            str(grade.verdict),
            grade.score,
            grade.advisory,
            stored.show(grade.reasoning),
            len(grade.criteria),
            sum(one.verdict is Verdict.PASSED for one in grade.criteria),
            grade.fingerprint or None,
            grade.cost_usd,
            grade.duration_ms,
        )


def _steps(stored: Stored) -> Iterator[Row]:
    results = {one.tool_call_id: one for one in stored.messages if isinstance(one, ToolResultMessage)}
    calls = (one for one in stored.messages if isinstance(one, ToolCallMessage))
    for number, call in enumerate(calls, 1):
        result = results.get(call.tool_call_id)
        yield (
            *stored.key,
            number,
            call.tool_call_id,
            call.parent_id,
            call.tool,
            stored.show(_text(call.params.get("target"))),
            result.is_error if result else None,
            _time(call.timestamp),
            _finite(result.duration_ms) if result else None,
            stored.show(result.url) if result else None,
            result.screenshot if result else None,
        )


def _messages(stored: Stored) -> Iterator[Row]:
    tools = {one.tool_call_id: one.tool for one in stored.messages if isinstance(one, ToolCallMessage)}
    for line, message in enumerate(stored.messages, 1):
        usage = message.usage
        yield (
            *stored.key,
            line,
            message.type,
            _time(message.timestamp),
            message.span_id,
            message.parent_id,
            tools.get(call_id) if (call_id := getattr(message, "tool_call_id", None)) else None,
            stored.show(_content(message)),
            _finite(message.duration_ms),
            usage.input_tokens if usage else None,
            usage.output_tokens if usage else None,
            usage.cost_usd if usage else None,
        )


_MAKERS: dict[TableName, Callable[[Stored], Iterable[Row]]] = {
    "attempts": _attempts,
    "grades": _grades,
    "steps": _steps,
    "messages": _messages,
}


def _content(message: Message) -> str:
    if isinstance(message, ToolCallMessage):
        return json.dumps(message.params, ensure_ascii=False)
    if isinstance(message, ToolResultMessage):
        return (
            message.result
            if isinstance(message.result, str)
            else json.dumps(message.result, ensure_ascii=False)
        )
    if isinstance(message, DelegationMessage):
        return message.instruction
    return message.summary if isinstance(message, DelegationResultMessage) else message.content


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


def _time(text: str) -> int | None:
    found = parse_time(text)
    return None if found is None else round(found.timestamp() * 1000)
