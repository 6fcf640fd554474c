"""SIGTERM ends a run as Ctrl-C does: what has finished is summed up, browsers and sites are closed."""

from __future__ import annotations

import contextlib
import signal
from types import FrameType
from typing import NoReturn

import pytest


class Terminated(KeyboardInterrupt):
    """The process was asked to end: exit code 2."""


class Termination:
    """Takes SIGTERM over for the time of a session, unless somebody else has.

    CI systems and containers send it when a job is cancelled. Workers of xdist are left alone: their
    controller ends them.
    """

    def __init__(self) -> None:
        self._is_ours = False

    def pytest_sessionstart(self) -> None:
        """Begin to listen."""
        with contextlib.suppress(ValueError):  # pytest does not run in the main thread
            if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
                signal.signal(signal.SIGTERM, _terminate)
                self._is_ours = True

    @pytest.hookimpl(trylast=True)
    def pytest_unconfigure(self) -> None:
        """Give the signal back."""
        if self._is_ours:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _terminate(number: int, frame: FrameType | None) -> NoReturn:
    del frame
    raise Terminated(f"ended by {signal.Signals(number).name}")
