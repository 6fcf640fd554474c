"""The cyclic garbage collector: what evals import and collect is no garbage, and looking is dear."""

from __future__ import annotations

import atexit
import contextlib
import gc
import io
from collections.abc import Generator
from itertools import compress
from typing import Any

import pytest


class Garbage:
    """Keeps the collector off until all rows are items, and what there is by then out of its sight.

    It would walk all modules and 100,000 items again and again: while pytest asks its plug-ins about them,
    twice when pytest ends, and twice when the interpreter does: together as long as making them takes.

    Args:
        config: pytest's; what was hidden is shown again when it is done with.
    """

    def __init__(self, config: pytest.Config) -> None:
        self._was_on = gc.isenabled()
        self._is_hidden = False
        gc.disable()
        config.add_cleanup(self._show)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_collection_finish(self) -> Generator[None, Any, Any]:
        """Put it on again; pytest calls this also after a collection that has failed."""
        try:
            return (yield)
        finally:
            self._is_hidden = True
            gc.freeze()
            self._resume()

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self) -> None:
        """Put it on again where nothing was collected: in xdist's controller."""
        self._resume()

    def pytest_unconfigure(self) -> None:
        """Put it on again if it did not come to that."""
        self._resume()

    def _resume(self) -> None:
        if self._was_on:
            self._was_on = False
            gc.enable()

    def _show(self) -> None:
        self._resume()
        if self._is_hidden:
            self._is_hidden = False
            gc.unfreeze()
            atexit.unregister(_leave)  # once, however many sessions a process has
            atexit.register(_leave)


def _leave() -> None:
    """Have the interpreter end without looking for garbage, which is also what closes files in cycles."""
    things = gc.get_objects()
    files = {kind for kind in set(map(type, things)) if issubclass(kind, io.IOBase)}
    for thing in compress(things, map(files.__contains__, map(type, things))):  # a million in no time
        with contextlib.suppress(Exception):  # closed, or a disk is full: as when it is collected
            thing.flush()
    gc.freeze()
