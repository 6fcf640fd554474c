"""All that reports and gates need of the attempts of a run, in few objects.

A run of 20,000 attempts has as many bundles, and who wants a pass rate would have to bring each. So a try
that is done has ``digests/000001.jsonl``, with lines as an index has them; ``done`` knows their hashes.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

from pydantic import ValidationError

from pytest_browsereval.analysis.evidence import describe_contradictions
from pytest_browsereval.analysis.summary import summarise
from pytest_browsereval.features.remote.bucket import Bucket
from pytest_browsereval.features.remote.listing import Entry
from pytest_browsereval.features.remote.threads import map_apart
from pytest_browsereval.model.digest import AttemptDigest, digest
from pytest_browsereval.model.results import TaskMetadata
from pytest_browsereval.run.index import is_readable, make_lines
from pytest_browsereval.run.records import RECORD, REWRITTEN, attempt_number
from pytest_browsereval.run.store import RunStore

FOLDER = "digests"

_DEPTH = 5
"""Names from ``tasks`` down to an attempt, both included."""

_AT_ONCE = 10_000
"""Attempts in one object."""


@dataclass(frozen=True)
class Digests:
    """What is known of these objects."""

    attempts: int
    sha256: tuple[str, ...]
    """Of each object, in their order."""

    @classmethod
    def read(cls, given: Any) -> Self | None:
        """Return what ``done`` says; None if that is nothing that this version knows."""
        try:
            return cls(int(given["attempts"]), tuple(map(str, given["sha256"])))
        except (TypeError, KeyError, ValueError, OverflowError):
            return None

    def as_json(self) -> dict[str, Any]:
        """Return what ``done`` says."""
        return asdict(self)


class Gathered:
    """Digests of the attempts of a run, gathered as these are sent."""

    def __init__(self) -> None:
        TaskMetadata.model_rebuild()  # each of the threads that come would do it
        self._found: dict[str, AttemptDigest | None] = {}
        """By the folders of the attempts; None where a reader has to see the attempt itself."""

    def add(self, entry: Entry, content: bytes) -> None:
        """Take note of an object as it is sent."""
        if _is_attempt(entry.path):
            self._found[entry.path] = _read(content) if entry.bundle else None

    def write(self, bucket: Bucket, prefix: str, root: Path) -> Digests | None:
        """Write them; None, and nothing is written, where a reader has to see the attempts themselves.

        That is where something else than the run has changed a record, or files contradict each other.

        Args:
            bucket: that has the try.
            prefix: of the try.
            root: the run's folder.

        Raises:
            RemoteError: they cannot be written.
        """
        ordered = sorted(self._found.items(), key=lambda one: one[0].split("/"))  # as folders are listed
        found = [(path, data) for path, data in ordered if data is not None]
        store = RunStore(root)
        finished = sum((folder / RECORD).exists() for folder in store.folders())
        if not finished == len(found) == len(self._found) or (root / REWRITTEN).exists():
            return None
        if describe_contradictions(store, summarise(found, root)):
            return None
        parts = (found[first : first + _AT_ONCE] for first in range(0, len(found), _AT_ONCE))
        contents = [b"".join(make_lines(part)) for part in parts]
        for number, content in enumerate(contents, 1):
            bucket.put(f"{prefix}/{_name(number)}", content)
        return Digests(len(found), tuple(hashlib.sha256(content).hexdigest() for content in contents))


def bring_digests(
    bucket: Bucket, prefix: str, known: Digests | None, folder: Path
) -> Mapping[str, Path] | None:
    """Bring the objects into a folder: those of 200,000 attempts take 110 MiB at once.

    Args:
        bucket: that has the try.
        prefix: of the try.
        known: what ``done`` says of them.
        folder: gets a file for each.

    Returns:
        The files by their names; None where there are none that this version can read.

    Raises:
        RemoteError: the store cannot be used.
        OSError: a file cannot be written.
    """
    if known is None:
        return None
    files = {f"{number:06}.jsonl": folder / str(number) for number in range(1, len(known.sha256) + 1)}

    def bring(one: tuple[str, str]) -> int | None:
        with files[one[0]].open("w+b") as file:  # piece by piece: whole objects in 16 threads take 180 MiB
            if bucket.save(f"{prefix}/{FOLDER}/{one[0]}", file) != one[1]:
                return None
            file.seek(0)
            return 1 + sum(1 for _ in file) if is_readable(file.readline()) else None

    counts = map_apart(bring, list(zip(files, known.sha256, strict=True)))
    return files if sum(one or 0 for one in counts) == known.attempts and None not in counts else None


def _name(number: int) -> str:
    return f"{FOLDER}/{number:06}.jsonl"


def _is_attempt(path: str) -> bool:
    parts = path.split("/")
    return parts[0] == "tasks" and len(parts) == _DEPTH and attempt_number(parts[-1]) is not None


def _read(content: bytes) -> AttemptDigest | None:
    try:
        return digest(TaskMetadata.model_validate_json(json.loads(content)["files"][RECORD]))
    except (ValidationError, KeyError):  # larger than what goes into a bundle; or damaged
        return None
