"""The end of a session: what its summary and its gate came to, and a line in the history."""

from __future__ import annotations

import pytest

from pytest_browsereval.features.gates import write_gate
from pytest_browsereval.features.runs.digest import digest_run
from pytest_browsereval.features.runs.history import HISTORY, append_digests
from pytest_browsereval.hooks.controller import Controller
from pytest_browsereval.run.active import ActiveRun


class HistoryKeeping:
    """Writes what a session has added to the history.

    Args:
        controller: which has the summaries.
    """

    def __init__(self, controller: Controller) -> None:
        self._controller = controller
        self._unwritten: list[str] = []

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self) -> None:
        """Add the runs; one that cannot be added is found again by whoever reads the history."""
        for active_run in self._controller.summaries:
            try:
                self._add(active_run)
            except (OSError, UnicodeError) as error:
                why = getattr(error, "strerror", None) or str(error)
                self._unwritten.append(f"eval {active_run.config.name}: {HISTORY} was not written: {why}")

    def _add(self, active_run: ActiveRun) -> None:
        run = active_run.store.root
        write_gate(run, [rule for owner, _, rule in self._controller.gating.results if owner is active_run])
        place = active_run.config.output_dir
        if run.resolve().parent.parent == place.resolve():  # a run that is resumed may lie elsewhere
            append_digests(place, [digest_run(run, f"{run.parent.name}/{run.name}")])

    @pytest.hookimpl(trylast=True)
    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Say what was not written: `browsereval runs` adds it, so that nothing is lost."""
        for line in self._unwritten:
            terminalreporter.line(f"{line} (`browsereval runs` adds the run)")
