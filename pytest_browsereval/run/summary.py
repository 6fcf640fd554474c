"""Reads ``summary.json``: the figures of a run, and of each result what is compared with its record."""

from __future__ import annotations

import contextlib
import random
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from pydantic_core import from_json

from pytest_browsereval.capture.trajectory import open_written, parse_written
from pytest_browsereval.run.records import Stamp, make_stamp

SUMMARY = "summary.json"

_RESULTS, _END = b' "results": [\n', b" ]"
"""The lines around the results, as ``format_json`` writes them."""


class Result(NamedTuple):
    """What a summary says of a trial; a figure that it does not say is ``...``."""

    query_id: str
    variant: str
    trial: int
    verdict: Any
    steps: Any
    duration_ms: Any
    cost_usd: Any


_NAMES, FIGURES = Result._fields[:4], Result._fields[4:]


@dataclass(frozen=True)
class StoredSummary:
    """What a summary says."""

    figures: dict[str, Any]
    """All but the results."""
    results: tuple[Result, ...] | None
    """None if they are damaged."""


def read_summary(root: Path) -> StoredSummary:
    """Return what the summary of a run says, which a process parses once while it does not change.

    Args:
        root: the run's folder.

    Raises:
        OSError: it is missing, or cannot be read.
        ValueError: it is damaged.
    """
    file = root / SUMMARY
    return _read(str(file), make_stamp(file.lstat()))


@lru_cache(maxsize=2)
def _read(path: str, _stamp: Stamp) -> StoredSummary:
    with open_written(path) as file:
        with contextlib.suppress(ValueError, LookupError, TypeError):
            return _read_lines(file)
        file.seek(0)  # something else has written it, or it is damaged
        loaded = parse_written(file.read())
    if not isinstance(loaded, dict):
        raise ValueError("it is not a block of keys")  # noqa: TRY004 of what somebody has written
    try:
        return StoredSummary(loaded, tuple(map(_take, loaded.pop("results"))))
    except (LookupError, TypeError):
        return StoredSummary(loaded, None)


def _read_lines(file: BinaryIO) -> StoredSummary:
    """Return the same, the results line by line: all of 200,000 at once would fill the memory.

    Raises:
        ValueError: it has another form.
        LookupError: the same.
        TypeError: the same.
    """
    rest: list[bytes] = []
    results: list[Result] = []
    mark = random.getrandbits(60)  # in their place; of several results in a file, the last counts
    for line in file:
        if line != _RESULTS:
            rest.append(line)
        else:
            ended = b",\n"
            for inner in file:
                if inner.startswith(_END):
                    rest.append(b' "results": %d%s' % (mark, inner.removeprefix(_END)))
                    break
                if ended != b",\n":
                    raise ValueError("a comma is missing")
                ended = inner[-2:]
                results.append(_take(from_json(inner.removesuffix(b",\n"))))
            if ended == b",\n":
                raise ValueError("a result is missing")
    figures: dict[str, Any] = from_json(b"".join(rest))
    if figures.pop("results") != (mark if results else []):
        raise ValueError("there are others elsewhere")
    return StoredSummary(figures, tuple(results))


def _take(one: dict[str, Any]) -> Result:
    found = Result(*(one[name] for name in _NAMES), *(one.get(name, ...) for name in FIGURES))
    hash(found[:3])  # a TypeError of what is no name
    return found
