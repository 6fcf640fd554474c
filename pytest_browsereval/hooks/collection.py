"""An eval config as a collector: its rows become items, in the order of the file."""

from __future__ import annotations

import types
from pathlib import Path

import pytest

from pytest_browsereval.hooks.items import EvalItem
from pytest_browsereval.hooks.session import EvalSession


class EvalFile(pytest.Module):
    """An eval config. A Module, not a File: module-scoped fixtures find no node in a File."""

    obj = types.ModuleType("browsereval_rows")  # so that nothing is imported
    eval_session: EvalSession

    @classmethod
    def of(cls, session: EvalSession, parent: pytest.Collector, path: Path) -> EvalFile:
        """Return the collector of a config file."""
        made: EvalFile = cls.from_parent(parent, path=path, nodeid=session.nodeid_of(path))
        made.eval_session = session
        return made

    def collect(self) -> list[EvalItem]:
        """Return an item for each trial; a file that cannot be used is reported before anything runs."""
        items: list[EvalItem] = []
        with self.eval_session.note_problems():
            run = self.eval_session.load_run(self.path)
            items = [EvalItem.of(self, run, entry) for entry in run.plan.entries(only=self._asked_for())]
            if self.config.option.markexpr or self.config.option.keyword:  # else no more is read than ids
                for item in items:
                    item.add_marks()
        return items

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
