"""The end of a session: its runs compared with the one that ``--eval-baseline`` names."""

from __future__ import annotations

import pytest

from pytest_browsereval.errors import UsageError
from pytest_browsereval.features.compare.baseline import read_run
from pytest_browsereval.features.compare.compare import compare
from pytest_browsereval.features.compare.report import make_report
from pytest_browsereval.features.shared.report_text import draw_report
from pytest_browsereval.hooks.controller import Controller
from pytest_browsereval.hooks.terminal import stdout_encoding
from pytest_browsereval.report.report import Report


class Comparing:
    """Compares each run with its baseline once the summaries are there.

    Args:
        controller: which has the summaries.
    """

    def __init__(self, controller: Controller) -> None:
        self._controller = controller
        self._reports: dict[str, Report] = {}

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Compare; runs that cannot be compared are not what was asked for, so the session is not green."""
        for active_run, run in self._controller.stored_runs.items():
            if active_run.baseline is None:
                continue
            try:
                report = make_report(compare(read_run(active_run.baseline), run))
            except UsageError as error:
                report = Report(f"not compared: {error}")
                if session.exitstatus == pytest.ExitCode.OK:
                    session.exitstatus = pytest.ExitCode.TESTS_FAILED
            self._reports[active_run.config.name] = report

    @pytest.hookimpl(trylast=True)
    def pytest_terminal_summary(
        self, terminalreporter: pytest.TerminalReporter, config: pytest.Config
    ) -> None:
        """Print the comparisons, after the tables of the runs."""
        encoding = stdout_encoding()
        for name, report in self._reports.items():
            terminalreporter.section(f"eval {name} compared with its baseline")
            for line in draw_report(report, config.get_terminal_writer().fullwidth):
                terminalreporter.line(line.encode(encoding, "replace").decode(encoding))
