"""``os._exit`` in code of an attempt or a plug-in: pytest does not end as if all were well."""

from __future__ import annotations

import contextlib
import os
import threading
from typing import Any

import pytest

from pytest_browsereval.process_guard import refuse_clean_exit

OURS = ("browsereval-loop", "browsereval-agent", "asyncio_")
"""How the names of threads begin in which attempts run; what is raised there errs the attempt."""

MESSAGE = b"\nsomething has called os._exit(0): the run is incomplete, and --eval-resume resumes it\n"


def guard_session(config: pytest.Config) -> None:
    """Stand before ``os._exit(0)`` until pytest ends: collecting and reporting call plug-ins as well.

    Not in workers of xdist: their controller sees it.
    """
    guard = contextlib.ExitStack()
    guard.enter_context(refuse_clean_exit(lambda: _answer(config)))
    config.add_cleanup(guard.close)


def _answer(config: pytest.Config) -> int:
    if threading.current_thread().name.startswith(OURS):
        raise SystemExit("it called os._exit(0), which would have ended the run")
    capture: Any = config.pluginmanager.get_plugin("capturemanager")
    with contextlib.suppress(Exception):  # the process ends in any case
        if capture is not None:
            capture.suspend_global_capture(in_=True)
        os.write(2, MESSAGE)
    return int(pytest.ExitCode.INTERNAL_ERROR)
