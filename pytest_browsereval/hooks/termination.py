"""SIGTERM, SIGHUP and SIGQUIT end a run as Ctrl-C does: results are summed up, browsers and sites closed."""

from __future__ import annotations

import contextlib
import signal
from types import FrameType
from typing import NoReturn

import pytest

SIGNALS = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP", "SIGQUIT") if hasattr(signal, name))
"""CI systems and containers send the first when a job is cancelled, a terminal that is closed the second."""


class Terminated(KeyboardInterrupt):
    """The process was asked to end: exit code 2."""


class Termination:
    """Takes these signals over for the time of a session, unless somebody else has.

    Workers of xdist are left alone: their controller ends them.
    """

    def __init__(self) -> None:
        self._ours: list[signal.Signals] = []

    def pytest_sessionstart(self) -> None:
        """Begin to listen."""
        with contextlib.suppress(ValueError):  # pytest does not run in the main thread
            for number in SIGNALS:
                if signal.getsignal(number) is signal.SIG_DFL:
                    signal.signal(number, _terminate)
                    self._ours.append(number)

    @pytest.hookimpl(trylast=True)
    def pytest_unconfigure(self) -> None:
        """Give the signals back."""
        while self._ours:
            signal.signal(self._ours.pop(), signal.SIG_DFL)


def _terminate(number: int, frame: FrameType | None) -> NoReturn:
    del frame
    raise Terminated(f"ended by {signal.Signals(number).name}")
