"""Which items this process may run after the one that is up."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

STOP_NAME, SUSPECTS_NAME = "stop", "suspects"
"""Files in the folder that the processes of a run share: see ``hooks/xdist.py``."""


class Share:
    """This process's share of the items.

    Without xdist that is all of them. With our scheduler, item *i* belongs to slot *i* modulo the number
    of workers, and each worker knows its slot. With a distribution that the user has named, all that is
    known is the next item.
    """

    def __init__(self, config: pytest.Config) -> None:
        self._given: dict[str, Any] = getattr(config, "workerinput", {})
        self._items: list[pytest.Item] = []
        self._place: dict[pytest.Item, int] = {}
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
        self._items = list(items)
        self._place = {item: place for place, item in enumerate(items)}

    def behind(self, item: pytest.Item) -> Iterator[pytest.Item]:
        """Yield the items that this process is to run after one, as far as it is known."""
        start = self._place[item] + 1
        if not self._given:
            yield from self._items[start:]
        elif self._given.get("browsereval_dist") == "load":
            slot = self._given["browsereval_slot"]
            for place in range(start, len(self._items)):
                if place % self.processes == slot:
                    yield self._items[place]
        elif self.next is not None:
            yield self.next

    def is_stopped(self) -> bool:
        """Whether the controller has asked everybody to stop at once, or is there no more."""
        if self._folder is None:
            return False
        return (self._folder / STOP_NAME).exists() or os.getppid() != self._parent

    def suspects(self) -> frozenset[str]:
        """Return the node ids that were in flight when a worker died: each of them runs alone."""
        if self._folder is not None:
            with contextlib.suppress(OSError):
                return frozenset((self._folder / SUSPECTS_NAME).read_text().splitlines())
        return frozenset()
