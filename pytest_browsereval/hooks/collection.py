"""An eval config as a collector: its rows become items, in the order of the file."""

from __future__ import annotations

import types
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_browsereval.errors import UsageError
from pytest_browsereval.hooks.items import EvalItem
from pytest_browsereval.hooks.session import EvalSession
from pytest_browsereval.run.active import ActiveRun


class EvalFile(pytest.Module):
    """An eval config. A Module, not a File: module-scoped fixtures find no node in a File."""

    obj = types.ModuleType("browsereval_rows")  # so that nothing is imported
    active_run: ActiveRun
    eval_session: EvalSession

    @classmethod
    def of(cls, session: EvalSession, parent: pytest.Collector, path: Path) -> EvalFile:
        """Return the collector of a config file."""
        made: EvalFile = cls.from_parent(parent, path=path, nodeid=session.nodeid_of(path))
        made.eval_session = session
        return made

    def collect(self) -> Iterator[pytest.Item]:
        """Yield an item for each trial; a file that cannot be used is reported before anything runs."""
        try:
            yield from list(self._items(self.eval_session.load_run(self.path)))
        except UsageError as error:
            self.eval_session.problems.append(error)

    def _items(self, active_run: ActiveRun) -> Iterator[EvalItem]:
        selects = bool(self.config.option.markexpr or self.config.option.keyword)
        for entry in active_run.plan.entries(only=self._asked_for()):
            item = EvalItem.of(self, active_run, entry)
            if selects:  # else no more of a row is read than its id
                item.add_marks()
            yield item

    def _asked_for(self) -> frozenset[str] | None:
        """Return the names of the rows that the arguments ask for, or None for all of them."""
        names = set()
        for arg in self.config.args:
            file, colons, name = arg.partition("::")
            if (self.config.invocation_params.dir / file).resolve() != self.path.resolve():
                continue
            if not colons:
                return None
            names.add(name.partition("[")[0])
        return frozenset(names) or None
