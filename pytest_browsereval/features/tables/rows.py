"""Rows of the tables, made of attempts."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from operator import attrgetter
from typing import Any, NamedTuple

from pytest_browsereval.analysis.reader import StoredRun
from pytest_browsereval.analysis.turns import find_model, parse_time
from pytest_browsereval.capture.trajectory import TASK_FILE
from pytest_browsereval.features.tables.log import Line, as_lines, parse_log
from pytest_browsereval.features.tables.record import Record, as_record, parse_record
from pytest_browsereval.features.tables.schema import Row, TableName
from pytest_browsereval.model.attacks import find_outcome
from pytest_browsereval.run.reading import read_metadata, work_ahead
from pytest_browsereval.run.records import RECORD
from pytest_browsereval.run.stored import LOG_FILE, read_log, read_stored
from pytest_browsereval.run_files import open_written

Rows = dict[TableName, list[Row]]
"""Of an attempt, by table."""

AHEAD = 1
"""Attempts that a thread reads at once: the logs of 32 of them wait in memory, and may be large."""


class Place(NamedTuple):
    """An attempt of a run, as plain values."""

    path: str
    """Its folder below the run's, with slashes."""
    counts: bool
    query_id: str
    variant: str
    trial: int
    attempt: int
    attack: str | None
    attack_outcome: str | None


def list_places(run: StoredRun) -> list[Place]:
    """Return the attempts of a run.

    Raises:
        UsageError: a record is damaged.
    """
    found: list[Place] = []
    for one in run.attempts:
        outcome = find_outcome(one.digest)
        key = _read_key(one.digest)
        found.append(Place._make((one.place, one.counts, *key, None if outcome is None else str(outcome))))
    return found


_read_key = attrgetter("query_id", "variant", "trial", "attempt", "attack")


@dataclass(frozen=True, slots=True)
class Stored:
    """What is read of an attempt, once for all tables."""

    run: StoredRun
    place: Place
    key: Row
    """The columns that each table begins with."""
    record: Record
    lines: list[Line]
    is_protected: bool
    """Then texts of the agent, of pages and of graders stay out: tables are copied to where others read."""

    def show(self, text: str | None) -> str | None:
        """Return a text, or None if it has to stay out."""
        return None if self.is_protected else text


def read_rows(
    run: StoredRun,
    tables: Collection[TableName],
    lost: list[str] | None = None,
    places: Iterable[Place] | None = None,
) -> Iterator[Rows]:
    """Yield the rows of each attempt, by table.

    Args:
        run: whose rows.
        tables: which ones.
        lost: gets a line for each attempt whose log cannot be read to its end.
        places: which attempts of the run; all by default.

    Raises:
        UsageError: a record is damaged.
    """
    has_log = not {"steps", "messages"}.isdisjoint(tables)
    name, root = run.eval, str(run.files)

    # Threads wait for the disk alone: Python's lock makes them slower at all else.
    def read(place: Place) -> Iterable[tuple[Place, bytes | None, bytes | None]]:
        folder = f"{root}/{place.path}"
        log = _try_reading(f"{folder}/{LOG_FILE}") if has_log else b""
        return [(place, _try_reading(f"{folder}/{RECORD}"), log)]

    for place, record, log in work_ahead(read, list_places(run) if places is None else places, AHEAD):
        data = parse_record(record) if record else None
        if data is None:
            data = as_record(read_metadata(run.files / place.path))
        is_protected = data["protected"]
        if is_protected is None:  # a record of an earlier version
            folder = run.files / place.path
            task = read_stored(folder).task if (folder / TASK_FILE).exists() else None
            is_protected = task is None or task.protected
        lines = parse_log(log) if log else None
        if lines is None:
            messages, damage = read_log(run.files / place.path, log)
            lines = as_lines(messages)
            if damage and lost is not None:
                lost.append(f"{place.query_id}: {damage}")
        stored = Stored(run, place, (run.id, name, *place[2:6]), data, lines, is_protected)
        yield {table: list(_MAKERS[table](stored)) for table in tables}


def _try_reading(path: str) -> bytes | None:
    with suppress(OSError), open_written(path) as file:
        return file.read()
    return None


def _attempts(stored: Stored) -> Iterator[Row]:
    data, manifest, is_shown = stored.record, stored.run.manifest, not stored.is_protected
    usage = data["usage"]
    # A program whose model calls nobody has counted has no requests, and no cost.
    is_counted = bool(usage["requests"]) or data["cost_usd"] is not None
    yield (
        *stored.key,
        stored.place.counts,
        data["verdict"],
        data["reason"] if is_shown else None,
        data["error_source"],
        data["termination_reason"],
        data["final_answer"] if is_shown else None,
        data["website"],
        data["dataset"],
        data["tags"],
        data["row_hash"] or None,
        _text(data["agent_config"].get("type")),
        find_model(data["agent_config"])[1],
        _time(data["started_at"]),
        _time(data["completed_at"]),
        data["total_duration_ms"],
        data["agent_duration_ms"],
        data["grading_duration_ms"],
        data["total_steps"],
        data["screenshot_count"],
        len(data["warnings"]) + len(data["errors"]),
        usage["input_tokens"] if is_counted else None,
        usage["output_tokens"] if is_counted else None,
        usage["cache_read_tokens"] if is_counted else None,
        usage["requests"] if is_counted else None,
        data["cost_usd"],
        data["node_id"],
        _text(manifest.get("git_commit")),
        _text(manifest.get("config_hash")),
        stored.place.path,
        stored.is_protected,
        stored.place.attack,
        stored.place.attack_outcome,
    )


def _grades(stored: Stored) -> Iterator[Row]:
    for name, grade in stored.record["grader_results"].items():
        yield (
            *stored.key,
            name,
            grade["verdict"],
            grade["score"],
            grade["advisory"],
            stored.show(grade["reasoning"]),
            len(grade["criteria"]),
            sum(one["verdict"] == "passed" for one in grade["criteria"]),
            grade["fingerprint"] or None,
            grade["cost_usd"],
            grade["duration_ms"],
            stored.place.attack,
        )


def _steps(stored: Stored) -> Iterator[Row]:
    calls: list[Line] = []
    results: dict[str, Line] = {}
    for line in stored.lines:
        if line["type"] == "tool_call":
            calls.append(line)
        elif line["type"] == "tool_result":
            results[line["toolCallId"]] = line
    key, is_shown = stored.key, not stored.is_protected
    for number, call in enumerate(calls, 1):
        call_id = call["toolCallId"]
        result = results.get(call_id, _NO_RESULT)
        yield (
            *key,
            number,
            call_id,
            call.get("parent_id"),
            call["tool"],
            _text(call["params"].get("target")) if is_shown else None,
            result.get("isError"),
            _time(call["timestamp"]),
            _finite(result.get("duration_ms")),
            result.get("url") if is_shown else None,
            result.get("screenshot"),
        )


_NO_RESULT: Line = {}


def _messages(stored: Stored) -> Iterator[Row]:
    tools = {one["toolCallId"]: one["tool"] for one in stored.lines if one["type"] == "tool_call"}
    for number, line in enumerate(stored.lines, 1):
        usage = line.get("usage")
        yield (
            *stored.key,
            number,
            line["type"],
            _time(line["timestamp"]),
            line.get("span_id"),
            line.get("parent_id"),
            tools.get(call_id) if (call_id := line.get("toolCallId")) else None,
            stored.show(_content(line)),
            _finite(line.get("duration_ms")),
            usage["input_tokens"] if usage else None,
            usage["output_tokens"] if usage else None,
            usage.get("cost_usd") if usage else None,
        )


_MAKERS: dict[TableName, Callable[[Stored], Iterable[Row]]] = {
    "attempts": _attempts,
    "grades": _grades,
    "steps": _steps,
    "messages": _messages,
}


_SAID = {
    "tool_call": "params",
    "tool_result": "result",
    "delegation": "instruction",
    "delegation_result": "summary",
}
"""Where lines have what is said, if not in ``content``."""


def _content(line: Line) -> str:
    said = line[_SAID.get(line["type"], "content")]
    return said if isinstance(said, str) else json.dumps(said, ensure_ascii=False)


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


def _time(text: str) -> int | None:
    try:  # as runs write it: a third of the time without a change of the zone
        found = datetime.fromisoformat(text) if text[-1:] == "Z" else parse_time(text)
    except ValueError:
        found = parse_time(text)
    return None if found is None else round(found.timestamp() * 1000)
