"""Progress lines: how many trials are done, running, failed, errored, and what was spent."""

from __future__ import annotations

import time
from typing import Any

import pytest

from pytest_browsereval.hooks.controller import Controller
from pytest_browsereval.hooks.session import EvalSession

EVERY_S = 10.0
"""Often enough to see that a slow run moves, seldom enough not to bury pytest's own lines."""


class Progress:
    """Prints the line after an item's report, at most every ten seconds."""

    def __init__(self, session: EvalSession, controller: Controller) -> None:
        self._session = session
        self._controller = controller
        self._last = time.monotonic()
        self._spent = 0.0
        self._spent_is_known = True
        self._folders: dict[str, None] = {}
        self._began: float | None = None
        """When the first row was up, by a monotonic clock."""
        self._resumed = 0
        """Rows whose results an earlier session had: they take no time."""

    def pytest_runtest_logstart(self) -> None:
        """Note when rows begin; collecting them is not what they take."""
        if self._began is None:
            self._began = time.monotonic()

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logreport(self, report: Any) -> None:
        """Count the money that a trial cost."""
        if getattr(report, "browsereval_verdict", None) is not None:
            record = dict(report.user_properties)
            self._resumed += bool(record.get("resumed"))
            cost = 0.0 if record.get("resumed") or record.get("replayed") else record.get("cost_usd")
            owner = self._controller.rows.get(report.nodeid)
            if cost is not None and owner is not None:
                cost -= owner.trials.cost_before(report.nodeid)
            self._spent_is_known &= cost is not None
            self._spent += cost or 0.0

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logfinish(self) -> None:
        """Print the line if it is time."""
        if time.monotonic() - self._last >= EVERY_S and self._controller.rows:
            self._last = time.monotonic()
            reporter: Any = self._session.config.pluginmanager.get_plugin("terminalreporter")
            if reporter is not None and reporter.verbosity >= -1:  # -q means short, not blind
                reporter.ensure_newline()
                if self._session.config.get_terminal_writer().width_of_current_line:  # after letters of rows
                    reporter.write("\n")
                reporter.write(self.line())
                if not (reporter.showfspath or reporter.showlongtestinfo):
                    reporter.write("\n")  # else what pytest prints next begins with one

    def line(self) -> str:
        """Return the line."""
        verdicts = list(self._controller.verdicts.values())
        stores = {active_run.store for active_run in self._controller.rows.values()}
        running = sum(len(store.in_flight()) for store in stores)
        failed, errored = verdicts.count("failed"), verdicts.count("errored")
        return (
            f"  eval: {len(verdicts)} of {len(self._controller.rows)} done, {running} running, "
            f"{failed} failed, {errored} errored, {self._money()}{self._times(len(verdicts))}"
        )

    def _money(self) -> str:
        if self._spent_is_known:
            return f"${self._spent:.2f} spent"
        return f"more than ${self._spent:.2f} spent" if self._spent else "cost unknown"

    def _times(self, done: int) -> str:
        """Return how long rows have run, and how long the others will take at this pace."""
        if self._began is None:
            return ""
        elapsed_s, made = time.monotonic() - self._began, done - self._resumed
        left = len(self._controller.rows) - done
        rest = f", about {clock(elapsed_s / made * left)} left" if made > 0 and left else ""
        return f", {clock(elapsed_s)} elapsed{rest}"


def clock(seconds: float) -> str:
    """Return a time as a clock shows it: 1:05, or 2:00:00."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
