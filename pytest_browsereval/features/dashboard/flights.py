"""Attempts in flight: lane and worker of each, its progress, its last picture."""

from __future__ import annotations

import contextlib
import math
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pytest_browsereval.features.dashboard.tail import Tail, shorten_value
from pytest_browsereval.features.shared.page_server import PICTURES
from pytest_browsereval.run.store import IN_FLIGHT
from pytest_browsereval.run_files import load_written

_MARKER = re.compile(r"(.+)-\d+\.json")
_KEY = re.compile(r"tasks/((?:[\w.+-]+/){3}attempt-\d+)", re.ASCII)


@dataclass(slots=True)
class Flight:
    """An attempt that has begun and is not finished."""

    key: str
    """Its folder below ``tasks``, with slashes."""
    node_id: str
    folder: str
    worker: str
    place: int
    """Its lane among those of its worker, from 0."""
    began_ms: float
    """Since 1970."""
    log: Tail
    lines: int = 0
    steps: int = 0
    cost_usd: float | None = 0.0
    """Of its model calls so far; None if that of one is unknown."""
    picture: str | None = None
    last: dict[str, Any] = field(default_factory=dict)
    """The last message, shortened."""

    def look(self) -> None:
        """Read the messages that have come since the last look."""
        while messages := self.log.more():
            self.picture = self.picture or picture_named(self.folder, 0)
            for message in messages:
                self.lines += 1
                self._count(message)
            self.last = shorten_value(messages[-1])

    def as_json(self) -> dict[str, Any]:
        """Return what a page shows of it."""
        names = ("key", "worker", "place", "lines", "steps", "picture", "last")
        plain = {name: getattr(self, name) for name in names}
        return {**plain, "began_ms": round(self.began_ms), "cost": self.cost_usd}

    def _count(self, message: dict[str, Any]) -> None:
        self.steps += message.get("type") == "tool_call"
        usage = message.get("usage")
        if isinstance(usage, dict) and usage.get("requests"):
            cost = usage.get("cost_usd")
            if isinstance(cost, int | float) and math.isfinite(cost) and self.cost_usd is not None:
                self.cost_usd += cost
            else:
                self.cost_usd = None
        number = message.get("screenshot")
        if isinstance(number, int) and not isinstance(number, bool):
            self.picture = picture_named(self.folder, number) or self.picture


def picture_named(folder: str, number: int) -> str | None:
    """Return the name of an attempt's picture; None if there is none of that number."""
    names = (f"{number:03d}.{ending}" for ending in PICTURES)
    return next((name for name in names if os.path.isfile(f"{folder}/screenshots/{name}")), None)  # noqa: PTH113 asked four times a second


class Flights:
    """All attempts of a run that are in flight.

    Args:
        root: the run's folder.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._by_marker: dict[str, Flight] = {}

    def __iter__(self) -> Iterator[Flight]:
        """Yield the attempts in flight at the last look."""
        return iter(list(self._by_marker.values()))

    def look(self) -> tuple[list[Flight], list[Flight]]:
        """Return the attempts that began since the last look, and those that ended."""
        found = self._markers()
        ended = [self._by_marker.pop(name) for name in list(self._by_marker) if name not in found]
        begun = []
        for name in sorted(found.keys() - self._by_marker.keys(), key=lambda name: found[name]):
            if (flight := self._of(name, found[name])) is not None:
                self._by_marker[name] = flight
                begun.append(flight)
        for flight in self:
            flight.look()
        return begun, ended

    def _markers(self) -> dict[str, float]:
        """Return the markers of attempts in flight, each with the time of its last change."""
        found = {}
        with contextlib.suppress(OSError), os.scandir(self._root / IN_FLIGHT) as entries:
            for entry in entries:
                with contextlib.suppress(FileNotFoundError):  # it has ended meanwhile; the others go on
                    if _MARKER.fullmatch(entry.name) and entry.is_file(follow_symlinks=False):
                        found[entry.name] = entry.stat(follow_symlinks=False).st_mtime
        return found

    def _of(self, name: str, written: float) -> Flight | None:
        """Return an attempt by its marker; None if the marker is incomplete or gone."""
        try:
            record = load_written(self._root / IN_FLIGHT / name)
            key, node_id = _KEY.fullmatch(str(record["folder"])), str(record["node_id"])
        except (OSError, ValueError, KeyError, TypeError):
            return None
        if key is None:
            return None
        worker = name.rpartition("-")[0]
        taken = {one.place for one in self._by_marker.values() if one.worker == worker}
        place = next(place for place in range(len(taken) + 1) if place not in taken)
        folder = f"{self._root}{os.sep}tasks{os.sep}{key[1]}"
        log = Tail(f"{folder}{os.sep}messages.jsonl")
        return Flight(key[1], node_id, folder, worker, place, written * 1000, log)
