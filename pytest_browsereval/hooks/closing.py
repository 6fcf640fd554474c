"""Reports what could not be closed at the end of a session."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_browsereval.hooks.session import EvalSession

KEY = "browsereval_unclosed"
"""Under which a worker hands over what it could not close."""


class Closing:
    """Gathers it in every process and prints it once.

    Args:
        session: the eval session of this process.
    """

    def __init__(self, session: EvalSession) -> None:
        self._session = session
        self._problems: dict[str, None] = {}

    def pytest_sessionfinish(self) -> None:
        """Take over what closing has come to, which was tried before."""
        prefetch: Any = self._session.config.pluginmanager.get_plugin("browsereval-prefetch")
        own = [problem for one in prefetch.sessions.values() for problem in one.unclosed]
        self._problems.update(dict.fromkeys(own))
        if self._session.is_worker:
            self._session.config.workeroutput[KEY] = own  # type: ignore[attr-defined]

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Take over what a worker could not close."""
        self._problems.update(dict.fromkeys(getattr(node, "workeroutput", {}).get(KEY, ())))

    @pytest.hookimpl(trylast=True)
    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Print it; the exit code stays that of the verdicts."""
        if self._problems:
            terminalreporter.section("eval cleanup errors", yellow=True)
            for problem in self._problems:
                terminalreporter.line(problem, yellow=True)
