"""``deaths.jsonl``: the processes of a run that have died."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_browsereval.run_files import parse_lines, read_written

DEATHS = "deaths.jsonl"
"""In the run folder: a line for each process that has died, with the trials that it was at."""


@dataclass(frozen=True, slots=True)
class Death:
    """A line of the file."""

    began: float
    """When the session began that has noted it."""
    trials: tuple[str, ...]
    """Folders of the trials that the process was at, below the run's."""
    is_known: bool
    """Whether it is known what did it: the one trial, or something that is not the run's."""
    regrades: bool
    """Whether stored attempts were graded again."""


def read_deaths(root: Path) -> tuple[Death, ...]:
    """Return the deaths of a run, in their order.

    Args:
        root: its folder.
    """
    try:
        return tuple(parse_lines(read_written(root / DEATHS), _take))
    except OSError:
        return ()


def _take(line: Any) -> Death:
    places = tuple(str(place) for place in line["trials"])
    return Death(float(line["began"]), places, line["is_known"] is True, line["regrades"] is True)


def count_deaths(root: Path) -> int:
    """Return how many deaths of a run are still unexplained: no trial has died again when it ran alone.

    Args:
        root: its folder.
    """
    blamed: set[str] = set()
    found = 0
    for death in reversed(read_deaths(root)):
        if death.is_known:
            blamed.update(death.trials)
        else:
            found += blamed.isdisjoint(death.trials)
    return found
