"""Reads ``summary.json``: the figures of a run, and of each result what is compared with its record."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from pytest_browsereval.run_files import Stamp, load_written, make_stamp

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
    error_source: Any = None
    row_hash: Any = ""
    is_derived: bool = False
    """Whether its row was derived from another one: no rate has it."""
    website: None = None
    """Not in a summary: without it there is no interval by site."""


FIGURES = ("steps", "duration_ms", "cost_usd")


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
        raise ValueError("a result has a different form")
    return results


def _read(root: Path) -> tuple[dict[str, Any], Sequence[Result] | None]:
    file = root / SUMMARY
    return _read_once(str(file), make_stamp(file.lstat()))


@lru_cache(maxsize=2)
def _read_once(path: str, _stamp: Stamp) -> tuple[dict[str, Any], Sequence[Result] | None]:
    loaded = load_written(Path(path))
    if not isinstance(loaded, dict):
        raise ValueError("it is not a block of keys")  # noqa: TRY004 of what someone has written
    results = loaded.pop("results", None)
    try:
        return loaded, tuple(map(_take, results))
    except (LookupError, TypeError):
        return loaded, None


def _take(one: dict[str, Any]) -> Result:
    # In the order of the fields: by their names it takes three times as long.
    known = one["query_id"], one["variant"], one["trial"], one["verdict"]
    get = one.get
    figures = get("steps", ...), get("duration_ms", ...), get("cost_usd", ...)
    found = Result(*known, *figures, get("error_source"), str(get("row_hash", "")), "derived_by" in one)
    if not (isinstance(found[0], str) and isinstance(found[1], str) and isinstance(found[2], int)):
        raise TypeError(f"{found[:3]} is not a trial")
    return found
