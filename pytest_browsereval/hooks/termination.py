"""Ends that pytest does not make: a signal ends a run as Ctrl-C does, ``os._exit(0)`` is not a success."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Generator
from types import FrameType
from typing import Any, NoReturn

import pytest

from pytest_browsereval.errors import describe_error
from pytest_browsereval.process_guard import refuse_clean_exit
from pytest_browsereval.redaction.known import redact_known

SIGNALS = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP", "SIGQUIT") if hasattr(signal, name))
"""CI systems and containers send the first when a job is cancelled, a terminal that is closed the second."""


class Terminated(KeyboardInterrupt):
    """The process was asked to end: exit code 2."""


class Termination:
    """Takes these signals over until pytest ends, unless someone else has.

    Workers of xdist are left alone: their controller ends them.
    """

    def __init__(self) -> None:
        self._ours: list[signal.Signals] = []
        self._session: pytest.Session | None = None

    def pytest_configure(self) -> None:
        """Begin to listen.

        (Not when the session starts: `pytest` alone finds its evals later than that, while it collects.)
        """
        with contextlib.suppress(ValueError):  # pytest does not run in the main thread
            for number in SIGNALS:
                if signal.getsignal(number) is signal.SIG_DFL:
                    signal.signal(number, _terminate)
                    self._ours.append(number)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> Generator[None, Any, Any]:
        """Keep the exit code where a plug-in calls ``sys.exit(0)`` while verdicts are reported."""
        self._session = session
        if int(session.exitstatus) and int(session.exitstatus) % 256 == 0:  # of 256 the system sees 0
            session.exitstatus = pytest.ExitCode.INTERNAL_ERROR
        try:
            return (yield)
        except (SystemExit, pytest.exit.Exception) as leaving:
            if not _is_clean(leaving.code or 0 if isinstance(leaving, SystemExit) else leaving.returncode):
                raise
            code = int(session.exitstatus) or int(pytest.ExitCode.INTERNAL_ERROR)
            raise pytest.exit.Exception(_describe_leaving(leaving, code), returncode=code) from leaving

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_unconfigure(self) -> Generator[None, Any, Any]:
        """Keep the exit code where a plug-in calls ``sys.exit(0)`` now, and give the signals back."""
        try:
            return (yield)
        except SystemExit as leaving:
            if not _is_clean(leaving.code or 0):
                raise
            # Everything is reported by now: without a session, pytest has stopped at wrong usage.
            code = int(pytest.ExitCode.USAGE_ERROR if self._session is None else self._session.exitstatus)
            sys.stderr.write(f"{_describe_leaving(leaving, code)}\n")
            raise SystemExit(code) from leaving
        finally:
            while self._ours:
                signal.signal(self._ours.pop(), signal.SIG_DFL)


def _is_clean(code: object) -> bool:
    """Whether the system takes an exit code for 0, of which it keeps eight bits."""
    return isinstance(code, int) and code % 256 == 0


def _describe_leaving(leaving: BaseException, code: int) -> str:
    return redact_known(f"{describe_error(leaving)} at the end of the session: it still ends with {code}")


def _terminate(number: int, frame: FrameType | None) -> NoReturn:
    del frame
    raise Terminated(f"ended by {signal.Signals(number).name}")


OURS = ("browsereval-loop", "browsereval-agent", "asyncio_")
"""How the names of threads begin in which attempts run; what is raised there errs the attempt."""

MESSAGE = b"\nsomething has called os._exit(0): the run is incomplete, and --eval-resume resumes it\n"


def guard_session(config: pytest.Config) -> None:
    """Stand before ``os._exit(0)`` until pytest ends: collecting and reporting call plug-ins as well.

    Not in workers of xdist: their controller sees it.
    """
    guard = contextlib.ExitStack()
    stderr = _duplicate_stderr(config)
    guard.callback(os.close, stderr)
    guard.enter_context(refuse_clean_exit(lambda: _answer(stderr)))
    config.add_cleanup(guard.close)


def _duplicate_stderr(config: pytest.Config) -> int:
    """Return a descriptor of the standard error that the user sees, no matter what pytest captures."""
    # Now, and not when something leaves: that may be any thread, while pytest's own turns capturing on.
    capture: Any = config.pluginmanager.get_plugin("capturemanager")
    with contextlib.nullcontext() if capture is None else capture.global_and_fixture_disabled():
        try:
            return os.dup(2)
        except OSError:  # a process that was started without one
            return os.open(os.devnull, os.O_WRONLY)


def _answer(stderr: int) -> int:
    if threading.current_thread().name.startswith(OURS):
        raise SystemExit("it called os._exit(0), which would have ended the run")
    with contextlib.suppress(OSError):  # the process ends in any case
        os.write(stderr, MESSAGE)
    return int(pytest.ExitCode.INTERNAL_ERROR)
