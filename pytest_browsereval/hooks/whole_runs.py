"""Decides for a run as a whole where no gate does: no session is green whose run has rows that are not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest

from pytest_browsereval.analysis.parts import lacking
from pytest_browsereval.analysis.summary import RunSummary
from pytest_browsereval.hooks.controller import Controller
from pytest_browsereval.model.display import format_count, wrap_text
from pytest_browsereval.model.grades import Verdict
from pytest_browsereval.run.active import ActiveRun
from pytest_browsereval.run.store import TrialKey


class WholeRuns:
    """Looks at what the items of this session do not tell: rows of earlier sessions, rows skipped too late.

    Args:
        controller: knows what the items have told and what the run folders say.
    """

    def __init__(self, controller: Controller) -> None:
        self._controller = controller
        self._lines: list[str] = []

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Make exit code 0 a 1; the controller has summed the runs up before."""
        if int(session.exitstatus) != pytest.ExitCode.OK:
            return
        for active_run, summary in self._controller.summaries.items():
            if not active_run.config.is_gated and (wrong := list(self._wrong(active_run, summary))):
                message = (
                    f"eval {active_run.config.name}: the run is not green: {'; '.join(wrong)} (exit code 1)"
                )
                self._lines.append(message)
                session.exitstatus = pytest.ExitCode.TESTS_FAILED

    @pytest.hookimpl(trylast=True)
    def pytest_terminal_summary(
        self, terminalreporter: pytest.TerminalReporter, config: pytest.Config
    ) -> None:
        """Say why."""
        for line in self._lines:
            for part in wrap_text(line, config.get_terminal_writer().fullwidth):
                terminalreporter.line(part, red=True)

    def _wrong(self, active_run: ActiveRun, summary: RunSummary) -> Iterator[str]:
        bad = [trial.metadata for trial in summary.trials if trial.metadata.verdict is not Verdict.PASSED]
        if bad:
            reported = self._controller.keys_of(active_run, self._controller.verdicts)
            unsaid = [one for one in bad if TrialKey(one.query_id, one.variant, one.trial) not in reported]
            for verdict, count in Counter(one.verdict for one in unsaid).items():
                yield f"{format_count(count, 'trial')} {verdict} that no item of this session reports"
        if active_run.trials.has_earlier and (rule := lacking(active_run.store, summary)):
            yield rule.message
