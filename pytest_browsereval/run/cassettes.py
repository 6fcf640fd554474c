"""Cassettes: the model calls of a trial in a file, to be kept beside the config and replayed.

``cassettes/<config>/<variant>/<row>-<trial>.jsonl`` has a line that says whose it is, a line for every call
of a model, and one that says how the attempt ended. What a request shares with the one before it is left
out. Each line carries a digest over itself and all lines above it: a cassette is evidence, and nobody writes
evidence by hand.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from pytest_browsereval.capture.trajectory import write_whole
from pytest_browsereval.config import EvalConfig
from pytest_browsereval.datasets.ids import safe_folder
from pytest_browsereval.documents import shown
from pytest_browsereval.errors import ErrorSource, Fault, TerminationReason, UsageError
from pytest_browsereval.llm.taping import Exchange, RecordingTape, ReplayingTape, Tape, taped
from pytest_browsereval.model.grades import Verdict
from pytest_browsereval.model.messages import now
from pytest_browsereval.model.results import TaskMetadata
from pytest_browsereval.run.hiding import Hiding
from pytest_browsereval.run.store import TrialKey

FORMAT = 1
"""Of the files; one of a higher number was written by a newer version."""

TOLD = 5
"""Problems that a message lists before it counts the rest."""

_AGAIN = "Record it again with  --eval-llm=record"


class ModelCalls(StrEnum):
    """What becomes of the calls of models: ``--eval-llm``."""

    LIVE = "live"
    """They are sent."""
    RECORD = "record"
    """They are sent, and taken down in cassettes."""
    REPLAY = "replay"
    """They are answered from cassettes; nothing is sent."""
    AUTO = "auto"
    """Trials that have a cassette replay it, all others are recorded."""


class CassetteError(UsageError):
    """A cassette is missing or cannot be used; the message has file and line."""


@dataclass(frozen=True)
class Cassette:
    """What is in the file."""

    exchanges: tuple[Exchange, ...]
    ended: TerminationReason
    """Why the recorded agent stopped."""


class Cassettes:
    """The cassettes of a config.

    Args:
        config: what is run.
        mode: what becomes of the calls of models.
        hiding: takes secrets out, and puts them in again.
    """

    def __init__(self, config: EvalConfig, mode: ModelCalls, hiding: Hiding) -> None:
        self.mode = mode
        self.root = config.base_dir / config.cassettes / safe_folder(config.name)
        """The folder of the config's cassettes."""
        self._hiding = hiding

    def path(self, key: TrialKey) -> Path:
        """Return where the cassette of a trial is, or will be."""
        return self.root / safe_folder(key.variant) / f"{safe_folder(key.query_id)}-{key.trial}.jsonl"

    def replays(self, key: TrialKey) -> bool:
        """Whether the model calls of a trial are answered from its cassette."""
        return self.mode is ModelCalls.REPLAY or (self.mode is ModelCalls.AUTO and self.path(key).exists())

    def check(self, keys: Iterable[TrialKey]) -> None:
        """Check that what is to be replayed can be, and what is to be recorded be written.

        Raises:
            CassetteError: cassettes are missing or damaged; the first five are told, the others counted.
        """
        problems = []
        if self.mode in (ModelCalls.RECORD, ModelCalls.AUTO):
            self._check_folder()
        for key in keys:
            if self.replays(key):
                try:
                    read_cassette(self.path(key))
                except CassetteError as error:
                    problems.append(str(error))
        if problems:
            more = [f"... and {len(problems) - TOLD} more"] if len(problems) > TOLD else []
            raise CassetteError("\n".join([*problems[:TOLD], *more]))

    def _check_folder(self) -> None:
        there = next(place for place in (self.root, *self.root.parents) if place.exists())
        if not there.is_dir() or not os.access(there, os.W_OK | os.X_OK):
            raise CassetteError(f"{shown(self.root)}: no cassette can be written there, because of {there}.")

    @contextmanager
    def taping(self, key: TrialKey) -> Iterator[Tape | None]:
        """Have the model calls of this task go by the trial's cassette; gives the tape, if there is one.

        Raises:
            Fault: source *replay*: the cassette cannot be used any more.
        """
        tape = self._tape(key)
        with taped(tape):
            yield tape

    def _tape(self, key: TrialKey) -> Tape | None:
        if self.mode is ModelCalls.LIVE:
            return None
        if not self.replays(key):
            return RecordingTape(self._hiding.hidden)
        path = self.path(key)
        try:
            cassette = read_cassette(path)
        except CassetteError as error:
            raise Fault(ErrorSource.REPLAY, str(error)) from None
        return ReplayingTape(
            cassette.exchanges,
            where=shown(path),
            ended=cassette.ended,
            hidden=self._hiding.hidden,
            restored=self._hiding.restored,
        )

    def keep(self, key: TrialKey, tape: Tape | None, metadata: TaskMetadata) -> None:
        """Write what was taken down of an attempt, unless that errored: it would be replayed as a fault.

        Raises:
            OSError: it cannot be written.
        """
        if isinstance(tape, RecordingTape) and metadata.verdict is not Verdict.ERRORED:
            path = self.path(key)
            path.parent.mkdir(parents=True, exist_ok=True)
            write_whole(path, "".join(_lines(key, tape.exchanges, metadata)))


def leftover(tape: Tape | None) -> str | None:
    """Return what to say of recorded calls that were not made; None if all were, or nothing was replayed."""
    left = tape.left if isinstance(tape, ReplayingTape) else []
    if not left:
        return None
    first = f"the first is call {left[0].number} of the {left[0].role}"
    return f"{len(left)} recorded model calls were not made; {first}"


# -- the file


def _lines(key: TrialKey, exchanges: Sequence[Exchange], metadata: TaskMetadata) -> Iterator[str]:
    records = [
        {
            "cassette": FORMAT,
            "query_id": key.query_id,
            "variant": key.variant,
            "trial": key.trial,
            "recorded_at": now(),
        },
        *_calls(exchanges),
        {"ended": metadata.termination_reason.value, "verdict": metadata.verdict.value},
    ]
    chain = ""
    for record in records:
        chain = _digest(chain, record)
        yield json.dumps({**record, "digest": chain}, ensure_ascii=False) + "\n"


def _digest(before: str, record: dict[str, Any]) -> str:
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
        yield {**record, "duration_ms": one.duration_ms}
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
        lines = path.read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        raise CassetteError(f"{shown(path)}: there is no such cassette. {_AGAIN}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise CassetteError(f"{shown(path)}: cannot be read: {error}. {_AGAIN}") from None
    records = list(_records(path, lines))
    if len(records) < 2 or "ended" not in records[-1]:
        raise CassetteError(f"{shown(path)}:{len(lines) or 1}: the cassette was cut off. {_AGAIN}")
    try:
        exchanges = tuple(_exchanges(records[1:-1]))
        return Cassette(exchanges, TerminationReason(records[-1]["ended"]))
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise CassetteError(
            f"{shown(path)}: is no cassette: {type(error).__name__}: {error}. {_AGAIN}"
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
            raise CassetteError(f"{where}: {told}. {_AGAIN}") from None
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
                f"recorded. Restore the file. {_AGAIN.replace('Record', 'Or record')}"
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
        )
