"""Keeps code of others from ending this process as if all were well."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NoReturn


@contextmanager
def refuse_clean_exit(answer: Callable[[], int]) -> Iterator[None]:
    """Stand before ``os._exit(0)``, which prints no report and looks like a success.

    Children that were forked end as they want.

    Args:
        answer: called in the thread that wants to leave; says so, and returns the exit code instead. What it
            raises keeps the process alive.
    """
    leave, pid = os._exit, os.getpid()

    def exit_process(status: int) -> NoReturn:
        if status % 256 == 0 and os.getpid() == pid:  # the system keeps eight bits: of 256 it sees 0
            status = answer()
        leave(status)

    os._exit = exit_process
    try:
        yield
    finally:
        os._exit = leave
