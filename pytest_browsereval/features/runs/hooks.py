"""The end of a session: what its gate came to, for those who list runs later."""

from __future__ import annotations

import pytest

from pytest_browsereval.features.shared.gates import GATE_FILE, write_gate
from pytest_browsereval.hooks.controller import Controller


class GateKeeping:
    """Writes what the gates of a session came to.

    Args:
        controller: which has the summaries.
    """

    def __init__(self, controller: Controller) -> None:
        self._controller = controller
        self._unwritten: list[str] = []

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self) -> None:
        """Write ``gate.json`` into each run."""
        for active_run in self._controller.summaries:
            results = self._controller.gating.results
            try:
                write_gate(active_run.store.root, [rule for owner, _, rule in results if owner is active_run])
            except OSError as error:
                why = error.strerror or str(error)
                self._unwritten.append(f"eval {active_run.config.name}: {GATE_FILE} was not written: {why}")

    @pytest.hookimpl(trylast=True)
    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Say what was not written."""
        for line in self._unwritten:
            terminalreporter.line(line)
