"""Which items this process runs after the one that is up."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import chain
from typing import Any

import pytest

from pytest_browsereval.config import EvalConfig

STOP = "stop"
"""What the controller sends to have a worker stop at once; all else is places of items or hashes of lines."""


def count_lanes(config: EvalConfig, processes: int) -> int:
    """Return how many attempts of a config run at once in each process."""
    lanes = config.lanes if config.num_workers is None else -(-config.num_workers // processes)
    return min(lanes, config.browser.max_windows or lanes)


class Share:
    """The items of this process, as far as they are known.

    Without xdist that is all of them. With it the controller says which items are handed to a worker; see
    ``hooks/scheduling.py``.

    Args:
        config: pytest's.
        on_change: called when there are more items, or it is to stop; in a thread of execnet's.
    """

    def __init__(self, config: pytest.Config, on_change: Callable[[], None]) -> None:
        given: dict[str, Any] = getattr(config, "workerinput", {})
        self.processes = int(given.get("workercount", 1))
        """How many processes share the items."""
        self.believed: set[str] = given.get("browsereval_believed", set())
        """The hashes of lines that workers have written which have died since."""
        self._on_change = on_change
        self._is_all = not given
        self._items: list[pytest.Item] = []
        self._places: list[int] = []
        """Of the items of this process, in the order in which they come up."""
        self._at = 0
        """Where among these the last one is that was up."""
        self._is_stopped = False
        self._parent = os.getppid()
        self._link = given.get("browsereval_link")
        if self._link is not None:
            self._link.setcallback(self._receive, endmarker=STOP)

    def _receive(self, message: list[int] | set[str] | str) -> None:
        if isinstance(message, list):
            self._places += message
        elif isinstance(message, set):
            self.believed = self.believed | message
        else:
            self._is_stopped = True
        self._on_change()

    def take(self, items: list[pytest.Item]) -> None:
        """Take all items of the session, in their final order."""
        self._items, self._at = items, 0
        if self._is_all:
            self._places = list(range(len(items)))

    def behind(self, item: pytest.Item) -> Iterator[pytest.Item]:
        """Yield the items that this process is to run after one, as far as it is known."""
        self._at = self._find(item)
        for at in range(self._at + 1, len(self._places)):
            yield self._items[self._places[at]]

    def holds(self, item: pytest.Item) -> bool:
        """Whether an item is known to be of this process."""
        return self._find(item) < len(self._places)

    def report_over(self, item: pytest.Item) -> None:
        """Tell the controller that an attempt is over whose item is not up yet, so that it hands out more."""
        if self._link is not None and (at := self._find(item)) < len(self._places):
            self.send(self._places[at])

    def send(self, message: Any) -> None:
        """Send the controller something at once: it arrives even if this process is killed next."""
        if self._link is not None:
            with suppress(OSError):  # the controller is gone
                self._link.send(message)

    def _find(self, item: pytest.Item) -> int:
        """Return where an item is, which is just behind the one before it, so that no table is needed."""
        places, start = self._places, self._at
        ways = chain(range(start, len(places)), range(start))
        return next((at for at in ways if self._items[places[at]] is item), len(places))

    def is_stopped(self) -> bool:
        """Whether the controller has asked all workers to stop at once, or does not exist any more."""
        return self._link is not None and (self._is_stopped or os.getppid() != self._parent)
