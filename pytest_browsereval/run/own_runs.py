"""The runs of tests by hand: each test has one of its own, and no two of its attempts are one trial."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any

from pytest_browsereval.config import EvalConfig
from pytest_browsereval.run.manifest import place_of
from pytest_browsereval.run.store import RunStore


class OwnRuns:
    """The runs of the tests by hand that use one config, in this process.

    Args:
        config: the config.
        store: the run of its items, from which those of tests have their id.
    """

    def __init__(self, config: EvalConfig, store: RunStore) -> None:
        self._config = config
        self._shared = store
        self._held = ExitStack()
        self._stores: dict[str, RunStore] = {}

    def of(self, name: str, manifest: Mapping[str, Any]) -> RunStore:
        """Return the run of a test, begun at the first call.

        Args:
            name: of the test.
            manifest: what the run is made of.

        Raises:
            OSError: its folder cannot be written.
        """
        if name not in self._stores:
            output, run_id, worker = self._config.output_dir, self._shared.root.name, self._shared.worker
            fsync = self._config.capture.fsync
            store = RunStore.locate(output, name, run_id, worker=worker, fsync=fsync)
            self._held.enter_context(store.locks.hold())
            place = place_of(self._config.base_dir, store.root)
            store.write_manifest({**manifest, "name": name, "selected": None, **place})
            if self._config.budget.max_cost_usd is not None:
                self._shared.root.mkdir(parents=True, exist_ok=True)  # all pay from the budget of the config
            self._stores[name] = store
        return self._stores[name]

    @property
    def stores(self) -> tuple[RunStore, ...]:
        """Those that were begun."""
        return tuple(self._stores.values())

    def let_go(self) -> None:
        """Let others write the runs."""
        self._held.close()
