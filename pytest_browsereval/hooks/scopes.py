"""xdist's ``--dist loadfile``, ``loadscope`` and ``loadgroup``, mended: a worker's death costs no other row.

xdist 3.8 gives the replacement for a dead worker one unit of work and waits for its end. A unit of one test
never ends, since a worker begins its last test only when another one has come, or its shutdown; nor does a
unit that the dead worker had finished. The test that was up in the dead worker is sent again, and kills the
next one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from xdist.scheduler import LoadFileScheduling, LoadGroupScheduling, LoadScopeScheduling

LEAST_QUEUED = 2
"""Tests that a worker has to have: the one that is up, and the next one."""


class _Mended(LoadScopeScheduling):  # type: ignore[misc] # xdist ships no types
    """What the three ways to distribute have in common.

    Args:
        config: pytest's.
        log: xdist's.
        is_run_again: whether the item that was up in a worker that has died is run once more.
    """

    workqueue: Any
    assigned_work: dict[Any, dict[str, dict[str, bool]]]

    def __init__(self, config: pytest.Config, log: Any, is_run_again: Callable[[str], bool]) -> None:
        super().__init__(config, log)
        self._is_run_again = is_run_again

    def remove_node(self, node: Any) -> str | None:
        """Put back what a dead worker has not finished; returns the item that was up, to be reported."""
        units = self.assigned_work.pop(node)
        crashed = next((item for unit in units.values() for item, done in unit.items() if not done), None)
        if crashed is None:
            return None
        is_run_again = self._is_run_again(crashed)
        for scope, unit in reversed(units.items()):
            if not is_run_again and crashed in unit:
                unit[crashed] = True
            if not all(unit.values()):
                self.workqueue[scope] = unit
                self.workqueue.move_to_end(scope, last=False)
        for other in self.nodes:
            self._reschedule(other)
        return None if is_run_again else crashed

    def _reschedule(self, node: Any) -> None:
        """Top up a worker's queue; end it when no work waits."""
        if node.shutting_down or node not in self.registered_collections:
            return
        while self.workqueue and self._pending_of(self.assigned_work[node]) < LEAST_QUEUED:
            self._assign_work_unit(node)
        if not self.workqueue:
            node.shutdown()


class _ByFile(_Mended, LoadFileScheduling):  # type: ignore[misc] # the same
    """``--dist loadfile``."""


class _ByGroup(_Mended, LoadGroupScheduling):  # type: ignore[misc] # the same
    """``--dist loadgroup``."""


SCHEDULERS = {"loadfile": _ByFile, "loadscope": _Mended, "loadgroup": _ByGroup}
"""By the name that ``--dist`` has."""
