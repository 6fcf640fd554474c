"""Runs compared with earlier ones: by rules of their gates, and behind the tables."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_browsereval.errors import UsageError
from pytest_browsereval.features.compare.baseline import read_run
from pytest_browsereval.features.compare.compare import RunComparison, compare
from pytest_browsereval.features.compare.report import make_report
from pytest_browsereval.features.shared.report_text import draw_report
from pytest_browsereval.hooks.controller import Controller
from pytest_browsereval.hooks.terminal import stdout_encoding
from pytest_browsereval.run.active import ActiveRun
from pytest_browsereval.runs.run import StoredRun


class Comparing:
    """Compares each run with its baseline once the summaries are there.

    Args:
        controller: which has the summaries.
    """

    def __init__(self, controller: Controller) -> None:
        self._controller = controller
        self._found: dict[ActiveRun, RunComparison | str] = {}

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Compare; runs that cannot be compared are not what was asked for, so the session is not green."""
        for active_run, run in self._controller.stored_runs.items():
            if active_run.baseline is not None:
                found = self._found[active_run] = _compare(run, active_run.baseline)
                if isinstance(found, str) and session.exitstatus == pytest.ExitCode.OK:
                    session.exitstatus = pytest.ExitCode.TESTS_FAILED

    @pytest.hookimpl(trylast=True)
    def pytest_terminal_summary(
        self, terminalreporter: pytest.TerminalReporter, config: pytest.Config
    ) -> None:
        """Print the comparisons, behind the tables of the runs."""
        for active_run, found in self._found.items():
            name = active_run.config.name
            terminalreporter.section(f"eval {name} compared with its baseline", red=isinstance(found, str))
            if isinstance(found, str):
                terminalreporter.line(f"not compared: {found}", red=True)
                continue
            encoding = stdout_encoding()
            for line in draw_report(make_report(found), config.get_terminal_writer().fullwidth):
                terminalreporter.line(line.encode(encoding, "replace").decode(encoding))


def _compare(run: StoredRun, baseline: Path) -> RunComparison | str:
    try:
        return compare(read_run(baseline), run)
    except UsageError as error:
        return str(error)
