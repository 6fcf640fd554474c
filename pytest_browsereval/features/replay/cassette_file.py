"""The file of a cassette: recorded model calls of a trial.

A line says whose the cassette is, then there is a line for every call, and the last line says how the attempt
ended. What a request shares with the one before it is left out. Each line carries a digest over it and all
lines above: evidence is not written by hand.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_browsereval.config_text import format_path
from pytest_browsereval.errors import TerminationReason, UsageError
from pytest_browsereval.features.replay.calls import RecordedCall
from pytest_browsereval.features.replay.volatile import compute_digest
from pytest_browsereval.model.messages import now
from pytest_browsereval.model.results import TaskMetadata

FORMAT = 1
"""Of the file; one of a higher number was written by a newer version."""

RECORD_AGAIN = "Record it again with `--eval-llm=record`"


class CassetteError(UsageError):
    """A cassette or a recording of pages is missing or cannot be used; the message has file and line."""


@dataclass(frozen=True)
class Cassette:
    """What is in the file."""

    calls: tuple[RecordedCall, ...]
    ended: TerminationReason
    """Why the recorded agent stopped."""


def format_cassette(calls: Sequence[RecordedCall], metadata: TaskMetadata) -> Iterator[str]:
    """Yield the lines of a cassette, with their ends.

    Args:
        calls: in the order in which they began.
        metadata: whose they are, and how the attempt ended.
    """
    records = [
        {
            "cassette": FORMAT,
            "query_id": metadata.query_id,
            "variant": metadata.variant,
            "trial": metadata.trial,
            "recorded_at": now(),
        },
        *_shorten_calls(calls),
        {"ended": metadata.termination_reason.value, "verdict": metadata.verdict.value},
    ]
    chain = ""
    for record in records:
        chain = compute_digest(record, chain)
        yield json.dumps({**record, "digest": chain}, ensure_ascii=False) + "\n"


def _shorten_calls(calls: Iterable[RecordedCall]) -> Iterator[dict[str, Any]]:
    """Yield the lines of the calls; a request's begin is that of the role's request before it."""
    before: dict[str, dict[str, Any]] = {}
    for call in calls:
        last = before.get(call.role, {})
        same = sorted(
            name for name, value in call.request.items() if name != "messages" and last.get(name) == value
        )
        request = {name: value for name, value in call.request.items() if name not in same}
        # A conversation is sent whole with each request: written out, files would grow with its square.
        kept = _count_common(last.get("messages"), call.request.get("messages"))
        if kept:
            request["messages"] = request["messages"][kept:]
        record = {"role": call.role, "call": call.number, "as_before": same, "messages_as_before": kept}
        rest = {"request": request, "fault": call.fault, "reply": call.reply, "duration_ms": call.duration_ms}
        record |= {**rest, "given_up_ms": call.given_up_ms}
        yield {name: value for name, value in record.items() if value not in (None, [], 0)}
        before[call.role] = call.request


def _count_common(before: Any, after: Any) -> int:
    if not isinstance(before, list) or not isinstance(after, list):
        return 0
    pairs = enumerate(zip(before, after, strict=False))
    return next((place for place, (one, other) in pairs if one != other), min(len(before), len(after)))


def read_cassette(path: Path) -> Cassette:
    """Return what is in a cassette.

    Raises:
        CassetteError: it is missing, cut off, of a newer version, or was edited.
    """
    file = format_path(path)
    try:
        text = path.read_text(encoding="utf-8")
        # Not splitlines(): it also splits at separators that JSON leaves in texts as they are.
        lines = text.removesuffix("\n").split("\n") if text else []
    except FileNotFoundError:
        raise CassetteError(f"{file}: there is no such cassette. {RECORD_AGAIN}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise CassetteError(f"{file}: cannot be read: {error}. {RECORD_AGAIN}") from None
    records = list(_read_lines(file, lines))
    if len(records) < 2 or "ended" not in records[-1]:
        raise CassetteError(f"{file}:{len(lines) or 1}: the cassette was cut off. {RECORD_AGAIN}")
    try:
        return Cassette(tuple(_restore_calls(records[1:-1])), TerminationReason(records[-1]["ended"]))
    except (KeyError, TypeError, ValueError, IndexError) as error:
        why = f"is not a cassette: {type(error).__name__}: {error}"
        raise CassetteError(f"{file}: {why}. {RECORD_AGAIN}") from None


def _read_lines(file: str, lines: Sequence[str]) -> Iterator[dict[str, Any]]:
    chain = ""
    for number, line in enumerate(lines, 1):
        where = f"{file}:{number}"
        try:
            record = json.loads(line)
            digest = record.pop("digest")
        except (ValueError, KeyError, TypeError, AttributeError):
            why = (
                "the cassette was cut off" if number == len(lines) > 1 else "this is not a line of a cassette"
            )
            raise CassetteError(f"{where}: {why}. {RECORD_AGAIN}") from None
        version = record.get("cassette", FORMAT)
        # Before the digest: a newer version may compute it in another way.
        if isinstance(version, int) and version > FORMAT:
            raise CassetteError(
                f"{where}: the cassette has format {version}, of a newer version than this one, which knows "
                f"{FORMAT}. Upgrade pytest-browsereval, or record it again."
            )
        chain = compute_digest(record, chain)
        if digest != chain:
            why = "the cassette was edited: this line, or lines above it, are"
            raise refuse_edited(f"{where}: {why}")
        yield record


def refuse_edited(what: str) -> CassetteError:
    """Return what to say of a recording whose digest does not fit."""
    again = RECORD_AGAIN.replace("Record", "Or record")
    return CassetteError(f"{what} not as they were recorded. Restore the file. {again}")


_REST = ("reply", "fault", "duration_ms", "given_up_ms")


def _restore_calls(records: Iterable[dict[str, Any]]) -> Iterator[RecordedCall]:
    before: dict[str, dict[str, Any]] = {}
    for record in records:
        role = record["role"]
        last = before.get(role, {})
        request = {**{name: last[name] for name in record.get("as_before", ())}, **record["request"]}
        if kept := record.get("messages_as_before", 0):
            request["messages"] = [*last["messages"][:kept], *request.get("messages", ())]
        before[role] = request
        rest = {name: record[name] for name in _REST if name in record}
        yield RecordedCall(role, record["call"], request, **rest)
