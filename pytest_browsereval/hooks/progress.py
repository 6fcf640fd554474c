"""A line now and then: how many trials are done, running, failed, errored, and what was spent."""

from __future__ import annotations

import time
from typing import Any

import pytest

from pytest_browsereval.hooks.controller import Controller
from pytest_browsereval.hooks.session import EvalSession
from pytest_browsereval.run.regrade import Regrading

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

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logreport(self, report: Any) -> None:
        """Count the money that a trial cost."""
        if getattr(report, "browsereval_verdict", None) is not None:
            told = dict(report.user_properties)
            cost = 0.0 if told.get("resumed") or told.get("replayed") else told.get("cost_usd")
            owner = self._controller.rows.get(report.nodeid)
            if cost is not None and isinstance(owner, Regrading):
                cost -= owner.cost_before(report.nodeid)
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
                reporter.write(self.line())  # what pytest prints next begins with a new line

    def line(self) -> str:
        """Return the line."""
        verdicts = list(self._controller.verdicts.values())
        stores = {evaluation.store for evaluation in self._controller.rows.values()}
        running = sum(len(store.in_flight()) for store in stores)
        spent = "" if self._spent_is_known else "more than "
        failed, errored = verdicts.count("failed"), verdicts.count("errored")
        return (
            f"  eval: {len(verdicts)} of {len(self._controller.rows)} done, {running} running, "
            f"{failed} failed, {errored} errored, {spent}${self._spent:.2f} spent"
        )
