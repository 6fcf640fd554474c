"""The files of recorded model calls, and of the replies of servers to pages.

A cassette has a line that says whose it is, a line for every call of a model, and one that says how the
attempt ended. What a request shares with the one before it is left out. Each line carries a digest over it
and all lines above, a recording of pages one over its entries: evidence is not written by hand.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_browsereval.config_text import shown
from pytest_browsereval.errors import TerminationReason, UsageError
from pytest_browsereval.model.messages import now
from pytest_browsereval.model.results import TaskMetadata
from pytest_browsereval.replay.calls import Exchange

FORMAT = 1
"""Of the files; one of a higher number was written by a newer version."""

_SIGNED = "pytest-browsereval 1: "
"""What the comment of a recording of pages begins with; its digest follows."""

AGAIN = "Record it again with  --eval-llm=record"


class CassetteError(UsageError):
    """A cassette is missing or cannot be used; the message has file and line."""


@dataclass(frozen=True)
class Cassette:
    """What is in the file."""

    exchanges: tuple[Exchange, ...]
    ended: TerminationReason
    """Why the recorded agent stopped."""


# -- model calls


def cassette_lines(exchanges: Sequence[Exchange], metadata: TaskMetadata) -> Iterator[str]:
    """Yield the lines of a cassette, with their ends.

    Args:
        exchanges: the calls, in the order in which they began.
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
        *_calls(exchanges),
        {"ended": metadata.termination_reason.value, "verdict": metadata.verdict.value},
    ]
    chain = ""
    for record in records:
        chain = _digest(chain, record)
        yield json.dumps({**record, "digest": chain}, ensure_ascii=False) + "\n"


def _digest(before: str, record: Any) -> str:
    text = before + json.dumps(record, ensure_ascii=False, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _calls(exchanges: Iterable[Exchange]) -> Iterator[dict[str, Any]]:
    """Yield the lines of the calls; a request's begin is that of the role's request before it."""
    before: dict[str, dict[str, Any]] = {}
    for one in exchanges:
        last = before.get(one.role, {})
        same = sorted(
            name for name, value in one.request.items() if name != "messages" and last.get(name) == value
        )
        shortened = {name: value for name, value in one.request.items() if name not in same}
        kept = _common(last.get("messages"), one.request.get("messages"))
        if kept:
            shortened["messages"] = shortened["messages"][kept:]
        record: dict[str, Any] = {"role": one.role, "call": one.number}
        record |= {"as_before": same} if same else {}
        record |= {"messages_as_before": kept} if kept else {}
        record["request"] = shortened
        if one.fault is not None:
            record["fault"] = one.fault
        elif one.reply is not None:
            record["reply"] = one.reply
        record["duration_ms"] = one.duration_ms
        yield record | ({"given_up_ms": one.given_up_ms} if one.given_up_ms else {})
        before[one.role] = one.request


def _common(before: Any, after: Any) -> int:
    if not isinstance(before, list) or not isinstance(after, list):
        return 0
    pairs = enumerate(zip(before, after, strict=False))
    return next((place for place, (one, other) in pairs if one != other), min(len(before), len(after)))


def read_cassette(path: Path) -> Cassette:
    """Return what is in a cassette.

    Raises:
        CassetteError: it is missing, cut off, of a newer version, or was edited.
    """
    try:
        text = path.read_text(encoding="utf-8")
        # Not splitlines(): it also splits at separators that JSON leaves in texts as they are.
        lines = text.removesuffix("\n").split("\n") if text else []
    except FileNotFoundError:
        raise CassetteError(f"{shown(path)}: there is no such cassette. {AGAIN}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise CassetteError(f"{shown(path)}: cannot be read: {error}. {AGAIN}") from None
    records = list(_records(path, lines))
    if len(records) < 2 or "ended" not in records[-1]:
        raise CassetteError(f"{shown(path)}:{len(lines) or 1}: the cassette was cut off. {AGAIN}")
    try:
        exchanges = tuple(_exchanges(records[1:-1]))
        return Cassette(exchanges, TerminationReason(records[-1]["ended"]))
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise CassetteError(
            f"{shown(path)}: is no cassette: {type(error).__name__}: {error}. {AGAIN}"
        ) from None


def _records(path: Path, lines: Sequence[str]) -> Iterator[dict[str, Any]]:
    chain = ""
    for number, line in enumerate(lines, 1):
        where = f"{shown(path)}:{number}"
        try:
            record = json.loads(line)
            digest = record.pop("digest")
        except (ValueError, KeyError, TypeError, AttributeError):
            told = "the cassette was cut off" if number == len(lines) > 1 else "this is no line of a cassette"
            raise CassetteError(f"{where}: {told}. {AGAIN}") from None
        version = record.get("cassette", FORMAT)
        if isinstance(version, int) and version > FORMAT:
            raise CassetteError(
                f"{where}: the cassette has format {version}, of a newer version than this one, which knows "
                f"{FORMAT}. Upgrade pytest-browsereval, or record it again."
            )
        chain = _digest(chain, record)
        if digest != chain:
            raise CassetteError(
                f"{where}: the cassette was edited: this line, or lines above it, are not as they were "
                f"recorded. Restore the file. {AGAIN.replace('Record', 'Or record')}"
            )
        yield record


def _exchanges(records: Iterable[dict[str, Any]]) -> Iterator[Exchange]:
    before: dict[str, dict[str, Any]] = {}
    for record in records:
        role = record["role"]
        last = before.get(role, {})
        request = {**{name: last[name] for name in record.get("as_before", ())}, **record["request"]}
        if kept := record.get("messages_as_before", 0):
            request["messages"] = [*last["messages"][:kept], *request.get("messages", ())]
        before[role] = request
        yield Exchange(
            role,
            record["call"],
            request,
            record.get("reply"),
            record.get("fault"),
            record.get("duration_ms", 0.0),
            record.get("given_up_ms", 0.0),
        )


# -- replies of servers


def without(recording: dict[str, Any], origins: Sequence[str]) -> dict[str, Any]:
    """Return a recording without the replies of some servers."""
    starts = tuple(origin.rstrip("/") + "/" for origin in origins)
    entries = [
        entry
        for entry in recording["log"]["entries"]
        if entry["request"]["url"].startswith(("http:", "https:"))
        and not entry["request"]["url"].startswith(starts)
    ]
    return {"log": {**recording["log"], "entries": entries}}


def signed(recording: dict[str, Any]) -> str:
    """Return the text of a recording's file."""
    log = {**recording["log"], "comment": _SIGNED + _digest("", recording["log"]["entries"])}
    return json.dumps({"log": log}, ensure_ascii=False, indent=1) + "\n"


def read_recording(path: Path) -> dict[str, Any]:
    """Return the replies of servers that were recorded, as a HAR file's content.

    Raises:
        CassetteError: the file is missing, cut off or was edited.
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        comment, entries = content["log"]["comment"], content["log"]["entries"]
    except FileNotFoundError:
        raise CassetteError(f"{shown(path)}: there is no such recording of pages. {AGAIN}") from None
    except (OSError, ValueError, KeyError, TypeError) as error:
        told = f"{shown(path)}: is no whole recording of pages: {type(error).__name__}: {error}. {AGAIN}"
        raise CassetteError(told) from None
    if comment != _SIGNED + _digest("", entries):
        raise CassetteError(
            f"{shown(path)}: the recording was edited: its entries are not as they were recorded. Restore "
            f"the file. {AGAIN.replace('Record', 'Or record')}"
        )
    return {"log": {**content["log"], "entries": entries}}
