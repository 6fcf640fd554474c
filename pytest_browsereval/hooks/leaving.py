"""``os._exit`` in code of an attempt: the attempt is errored, and pytest does not end as if all were well."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Generator
from typing import Any, NoReturn

import pytest

OURS = ("browsereval-loop", "browsereval-agent", "asyncio_")
"""How the names of threads begin in which attempts run; what is raised there errs the attempt."""

TOLD = b"\nsomething has called os._exit(0): the run is incomplete, and --eval-resume resumes it\n"


class Leaving:
    """Stands before ``os._exit(0)`` while items run: it would end pytest with no report, and green.

    Children that were forked end as they want. Workers of xdist are left alone: their controller sees it.
    """

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._leave = os._exit
        self._pid = os.getpid()

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtestloop(self) -> Generator[None, Any, Any]:
        """Do so for all items."""
        self._leave, self._pid = os._exit, os.getpid()
        os._exit = self._exit
        try:
            return (yield)
        finally:
            os._exit = self._leave

    def _exit(self, status: int) -> NoReturn:
        if status == 0 and os.getpid() == self._pid:
            if threading.current_thread().name.startswith(OURS):
                raise SystemExit("it called os._exit(0), which would have ended the run")
            self._tell()
            status = int(pytest.ExitCode.INTERNAL_ERROR)
        self._leave(status)

    def _tell(self) -> None:
        capture: Any = self._config.pluginmanager.get_plugin("capturemanager")
        with contextlib.suppress(Exception):  # the process ends in any case
            if capture is not None:
                capture.suspend_global_capture(in_=True)
            os.write(2, TOLD)
