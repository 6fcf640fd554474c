"""Which items this process may run after the one that is up."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

from pytest_browsereval.config import EvalConfig
from pytest_browsereval.hooks.order import relations_of
from pytest_browsereval.run.relations import slots

STOP_NAME = "stop"
"""A file in the folder that the processes of a run share: see ``hooks/xdist.py``."""


def count_lanes(config: EvalConfig, processes: int) -> int:
    """Return how many attempts of a config run at once in each process."""
    return config.lanes if config.num_workers is None else -(-config.num_workers // processes)


class Partition:
    """The items of this process.

    Without xdist that is all of them. With our scheduler, item *i* belongs to slot *i* modulo the number
    of workers, what is tied to it by ``depends_on`` or ``sites`` too, and each worker knows its slot. With
    a distribution that the user has named, all that is known is the next item.
    """

    def __init__(self, config: pytest.Config) -> None:
        self._given: dict[str, Any] = getattr(config, "workerinput", {})
        self._items: list[pytest.Item] = []
        """Those of this process, as far as they are known."""
        self._at = 0
        """The place of the last one that was up."""
        self.next: pytest.Item | None = None
        self._parent = os.getppid()
        self._folder = (
            Path(self._given["browsereval_control"]) if "browsereval_control" in self._given else None
        )

    @property
    def processes(self) -> int:
        """How many processes share the items."""
        return int(self._given.get("workercount", 1))

    def take(self, items: list[pytest.Item]) -> None:
        """Take the items in their final order."""
        self._at = 0
        if not self._given:
            self._items = list(items)
        elif self._knows_slot:
            slot, of = self._given["browsereval_slot"], [relations_of(item).ties for item in items]
            pairs = zip(items, slots(of, self.processes), strict=True)
            self._items = [item for item, its_slot in pairs if its_slot == slot]

    @property
    def _knows_slot(self) -> bool:
        return self._given.get("browsereval_dist") == "load"

    def behind(self, item: pytest.Item) -> Iterator[pytest.Item]:
        """Yield the items that this process is to run after one, as far as it is known."""
        if not self._given or self._knows_slot:
            self._at = self._place_of(item)
            for place in range(self._at + 1, len(self._items)):
                yield self._items[place]
        elif self.next is not None:
            yield self.next

    def _place_of(self, item: pytest.Item) -> int:
        """Return an item's place, which is just behind the one before it, so that no table is needed."""
        places = chain(range(self._at, len(self._items)), range(self._at))
        return next((place for place in places if self._items[place] is item), len(self._items))

    def is_stopped(self) -> bool:
        """Whether the controller has asked everybody to stop at once, or is there no more."""
        if self._folder is None:
            return False
        return (self._folder / STOP_NAME).exists() or os.getppid() != self._parent
