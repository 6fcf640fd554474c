"""Reads ``summary.json``: the figures of a run, and of each result what is compared with its record."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, TypeVar

from pydantic_core import from_json

from pytest_browsereval.capture.trajectory import open_written, parse_written
from pytest_browsereval.run.records import Stamp, make_stamp

T = TypeVar("T")

SUMMARY = "summary.json"

_SMALL = 1 << 18
"""Bytes. Half of the time to parse all at once; a larger one would fill the memory."""

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


def describe_rounds(root: Path) -> str:
    """Return what became of trials that were made in rounds, by the summary of a run; "" if they were not."""
    with contextlib.suppress(OSError, ValueError, LookupError, TypeError):
        return str(read_summary(root).figures["rounds"]["line"])
    return ""


@lru_cache(maxsize=2)
def _read(path: str, _stamp: Stamp) -> StoredSummary:
    with open_written(path) as file:
        figures, results = parse_summary(file, _take)
        try:
            return StoredSummary(figures, tuple(results))
        except (LookupError, TypeError):
            return StoredSummary(figures, None)


def parse_summary(file: BinaryIO, take: Callable[[Any], T]) -> tuple[dict[str, Any], Iterable[T]]:
    """Return the figures of a summary, and what is taken of its results.

    Args:
        file: which begins with it.
        take: what is taken of a result; it may raise errors of these kinds.

    Raises:
        ValueError: it is damaged. The results raise it, a LookupError or a TypeError where they are.
    """
    start = file.read(_SMALL)
    if len(start) == _SMALL:
        file.seek(0)
        with contextlib.suppress(ValueError, LookupError, TypeError):
            return _parse_lines(file, take)
        file.seek(0)  # something else has written it, or it is damaged
        start = file.read()
    try:
        loaded = from_json(start)
    except ValueError:
        loaded = parse_written(start)  # takes more, and says why it is damaged
    if not isinstance(loaded, dict):
        raise ValueError("it is not a block of keys")  # noqa: TRY004 of what somebody has written
    results = loaded.pop("results", None)
    return loaded, (take(one) for given in (results,) for one in given)


def _parse_lines(file: BinaryIO, take: Callable[[Any], T]) -> tuple[dict[str, Any], list[T]]:
    """Return the same, the results line by line: all of 200,000 at once would fill the memory.

    Raises:
        ValueError: it has another form.
        LookupError: the same.
        TypeError: the same.
    """
    rest: list[bytes] = []
    results: list[T] = []
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
                results.append(take(from_json(inner.removesuffix(b",\n"))))
            if ended == b",\n":
                raise ValueError("a result is missing")
    figures: dict[str, Any] = from_json(b"".join(rest))
    if figures.pop("results") != (mark if results else []):
        raise ValueError("there are others elsewhere")
    return figures, results


def _take(one: dict[str, Any]) -> Result:
    found = Result(*(one[name] for name in _NAMES), *(one.get(name, ...) for name in FIGURES))
    hash(found[:3])  # a TypeError of what is no name
    return found
