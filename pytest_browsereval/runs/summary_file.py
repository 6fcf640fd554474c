"""Reads ``summary.json``: the figures of a run, and of each result what is compared with its record."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, TypeVar

from pydantic_core import from_json

from pytest_browsereval.run_files import Stamp, make_stamp, open_written, parse_written

T = TypeVar("T")

SUMMARY = "summary.json"

_SMALL = 1 << 18
"""Bytes. Half of the time to parse all at once; a larger one would fill the memory."""

_RESULTS, _END, _ENDS = b' "results": [\n', b" ]", (b"},\n", b"}\n")
"""The lines around the results, as ``format_json`` writes them, and how theirs end."""


class Result(NamedTuple):
    """What a summary says of a trial; a figure that it does not say is ``...``."""

    query_id: str
    variant: str
    trial: int
    verdict: Any
    steps: Any
    duration_ms: Any
    cost_usd: Any


FIGURES = Result._fields[4:]


def read_figures(root: Path) -> dict[str, Any]:
    """Return all but the results of a run's summary, which a process parses once while it does not change.

    Args:
        root: the run's folder.

    Raises:
        OSError: it is missing, or cannot be read.
        ValueError: it is damaged.
    """
    file = root / SUMMARY
    return _read_figures(str(file), make_stamp(file.lstat()))


def read_results(root: Path) -> Iterator[Result]:
    """Yield the results of a run's summary one by one: those of 200,000 trials take 40 MiB.

    Raises:
        OSError: it is missing, or cannot be read.
        ValueError: it is damaged.
    """
    with open_written(str(root / SUMMARY)) as file:
        try:
            yield from parse_summary(file, _take)[1]
        except (LookupError, TypeError):
            raise ValueError("a result has another form") from None


def describe_rounds(root: Path) -> str:
    """Return what became of trials that were made in rounds, by the summary of a run; "" if they were not."""
    with contextlib.suppress(OSError, ValueError, LookupError, TypeError):
        return str(read_figures(root)["rounds"]["line"])
    return ""


@lru_cache(maxsize=2)
def _read_figures(path: str, _stamp: Stamp) -> dict[str, Any]:
    with open_written(path) as file:
        return parse_summary(file, _take)[0]


def parse_summary(file: BinaryIO, take: Callable[[Any], T]) -> tuple[dict[str, Any], Iterable[T]]:
    """Return the figures of a summary, and what is taken of its results.

    Args:
        file: which begins with it.
        take: what is taken of a result; it may raise errors of these kinds.

    Raises:
        ValueError: it is damaged. The results raise it, a LookupError or a TypeError where they are, and
            are read from the file when they are asked for.
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


def _parse_lines(file: BinaryIO, take: Callable[[Any], T]) -> tuple[dict[str, Any], Iterator[T]]:
    """Return the same, the results line by line: all of 200,000 at once would fill the memory.

    Raises:
        ValueError: it has another form.
        LookupError: the same.
        TypeError: the same.
    """
    rest: list[bytes] = []
    begin = None
    mark = random.getrandbits(60)  # in their place; of several results in a file, the last counts
    for line in file:
        if line != _RESULTS:
            rest.append(line)
        else:
            begin = file.tell()
            inner = next((one for one in file if not (one[:4] == b'  {"' and one.endswith(_ENDS))), b"")
            if not inner.startswith(_END):
                raise ValueError("one is not a line")
            rest.append(b' "results": %d%s' % (mark, inner.removeprefix(_END)))
    figures: dict[str, Any] = from_json(b"".join(rest))
    if figures.pop("results") != ([] if begin is None else mark):
        raise ValueError("there are others elsewhere")
    return figures, _take_lines(file, begin, take)


def _take_lines(file: BinaryIO, begin: int | None, take: Callable[[Any], T]) -> Iterator[T]:
    if begin is not None:
        file.seek(begin)
        ended = b",\n"
        for line in file:
            if (ended != b",\n") is not line.startswith(_END):
                raise ValueError("a comma is missing, or a result")
            if line.startswith(_END):
                return
            ended = line[-2:]
            yield take(from_json(line.removesuffix(b",\n")))
        raise ValueError("it was cut")


def _take(one: dict[str, Any]) -> Result:
    # In the order of the fields: by their names it takes three times as long.
    known = one["query_id"], one["variant"], one["trial"], one["verdict"]
    get = one.get
    found = Result(*known, get("steps", ...), get("duration_ms", ...), get("cost_usd", ...))
    hash(found[:3])  # a TypeError of what is no name
    return found
