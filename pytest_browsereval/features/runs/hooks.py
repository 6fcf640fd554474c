"""The end of a session: what its summary and its gate came to, and a line in the history."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from pytest_browsereval.analysis.summary import RunSummary
from pytest_browsereval.errors import UsageError
from pytest_browsereval.features.gates import write_gate
from pytest_browsereval.features.runs.digest import ALL_TRIALS, digest_run
from pytest_browsereval.features.runs.history import HISTORY, append_digests
from pytest_browsereval.hooks.controller import Controller, RunPart
from pytest_browsereval.hooks.gating import Gating
from pytest_browsereval.run.active import ActiveRun
from pytest_browsereval.run.summary import read_figures


class AllTrials(RunPart):
    """Writes down how many trials the config has: a run of some of them can be told from one of all.

    Args:
        left_out: how many variants of each config the session leaves out.
    """

    def __init__(self, left_out: Mapping[Path, int]) -> None:
        self._left_out = left_out

    def sum_up(self, active_run: ActiveRun, summary: RunSummary) -> tuple[dict[str, Any], list[str]]:
        """Count them; where stored trials are graded again, take what was counted when they were made."""
        if not active_run.trials.makes_attempts:
            count = None
            with suppress(OSError, ValueError):
                count = read_figures(active_run.store.root).get(ALL_TRIALS)
        else:
            try:
                config = active_run.config
                entries = active_run.plan.entries(is_limited=False)
                count = sum(map(active_run.is_wanted, entries))  # rounds that nobody needed are not lacking
                count += count // len(config.variants) * self._left_out.get(config.path, 0)
            except UsageError:  # the rows were changed meanwhile
                count = None
        return ({} if count is None else {ALL_TRIALS: count}), []


class HistoryKeeping:
    """Writes what a session has added to the history.

    Args:
        controller: which has the summaries.
        gating: which has the results of the gates.
    """

    def __init__(self, controller: Controller, gating: Gating) -> None:
        self._controller = controller
        self._gating = gating
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
        write_gate(run, [rule for owner, _, rule in self._gating.results if owner is active_run])
        place = active_run.config.output_dir
        if run.resolve().parent.parent == place.resolve():  # a run that is resumed may lie elsewhere
            append_digests(place, [digest_run(run, f"{run.parent.name}/{run.name}")])

    @pytest.hookimpl(trylast=True)
    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Say what was not written: `browsereval runs` adds it, so that nothing is lost."""
        for line in self._unwritten:
            terminalreporter.line(f"{line} (`browsereval runs` adds the run)")
