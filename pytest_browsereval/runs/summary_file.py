"""Reads ``summary.json``: the figures of a run, and of each result what is compared with its record."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, TypeVar

from pydantic_core import from_json

from pytest_browsereval.run_files import Stamp, make_stamp, open_written, parse_written

T = TypeVar("T")

SUMMARY = "summary.json"


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
    return _read(root)[0]


def read_results(root: Path) -> Sequence[Result]:
    """Return the results of a run's summary.

    Raises:
        OSError: it is missing, or cannot be read.
        ValueError: it is damaged.
    """
    if (results := _read(root)[1]) is None:
        raise ValueError("a result has another form")
    return results


def describe_rounds(root: Path) -> str:
    """Return what became of trials that were made in rounds, by the summary of a run; "" if they were not."""
    with contextlib.suppress(OSError, ValueError, LookupError, TypeError):
        return str(read_figures(root)["rounds"]["line"])
    return ""


def _read(root: Path) -> tuple[dict[str, Any], Sequence[Result] | None]:
    file = root / SUMMARY
    return _read_once(str(file), make_stamp(file.lstat()))


@lru_cache(maxsize=2)
def _read_once(path: str, _stamp: Stamp) -> tuple[dict[str, Any], Sequence[Result] | None]:
    with open_written(path) as file:
        figures, results = parse_summary(file, _take)
    try:
        return figures, tuple(results)
    except (LookupError, TypeError):
        return figures, None


def parse_summary(file: BinaryIO, take: Callable[[Any], T]) -> tuple[dict[str, Any], Iterable[T]]:
    """Return the figures of a summary, and what is taken of its results.

    Args:
        file: which begins with it.
        take: what is taken of a result, once it is asked for.

    Raises:
        ValueError: it is damaged. The results raise a TypeError or what ``take`` raises.
    """
    content = file.read()
    try:
        loaded = from_json(content)
    except ValueError:
        loaded = parse_written(content)  # takes more, and says why it is damaged
    if not isinstance(loaded, dict):
        raise ValueError("it is not a block of keys")  # noqa: TRY004 of what somebody has written
    results = loaded.pop("results", None)
    return loaded, (take(one) for given in (results,) for one in given)


def _take(one: dict[str, Any]) -> Result:
    # In the order of the fields: by their names it takes three times as long.
    known = one["query_id"], one["variant"], one["trial"], one["verdict"]
    get = one.get
    found = Result(*known, get("steps", ...), get("duration_ms", ...), get("cost_usd", ...))
    hash(found[:3])  # a TypeError of what is no name
    return found
