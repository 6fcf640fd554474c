"""Expressions of rows, evaluated in a process of their own that can be ended.

A thread cannot be ended: what takes exponential time in one goes on after its grader has been given up, and
keeps Python from leaving.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from pydantic import JsonValue

EVALUATION_LIMIT_S = 5.0

_until: ContextVar[float] = ContextVar("until", default=float("inf"))


@contextmanager
def limit_evaluations(limit_s: float) -> Iterator[None]:
    """Limit the time of all evaluations in the block, also in threads that it starts."""
    token = _until.set(time.monotonic() + limit_s)
    try:
        yield
    finally:
        _until.reset(token)


def evaluate(script: str, given: JsonValue, limit_s: float = EVALUATION_LIMIT_S) -> JsonValue:
    """Run one of our scripts on a JSON value and return the JSON value that it writes; blocks.

    Args:
        script: reads standard input and writes to standard output.
        given: what it reads.
        limit_s: how many seconds it may take; less if the time of the block is over before.

    Raises:
        TimeoutError: it took longer.
        ValueError: it failed; the message is its last line.
    """
    try:
        answer = subprocess.run(  # noqa: S603 our own interpreter; what is given travels on stdin
            # Isolated and without site-packages: it starts faster, and runs nothing that a package has put
            # there.
            [sys.executable, "-I", "-S", "-c", script],
            input=json.dumps(given),
            capture_output=True,
            text=True,
            timeout=max(min(limit_s, _until.get() - time.monotonic()), 0.0),
            # The script evaluates what rows hold: it has no business with the keys in the environment.
            env={},
            check=True,
        )
    except subprocess.TimeoutExpired:
        raise TimeoutError from None
    except subprocess.CalledProcessError as error:
        lines = error.stderr.strip().splitlines() or ["no message"]
        raise ValueError(lines[-1]) from None
    found: JsonValue = json.loads(answer.stdout)
    return found
