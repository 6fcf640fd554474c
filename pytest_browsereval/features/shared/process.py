"""Processes of ours: pytest for commands that try rows, and the end of what is supervised."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from pytest_browsereval.features.shared.processes import attach_command

GRACE_S = 5.0
LAST_LINES = 15
"""Lines of pytest's output: its last ones say why it made no attempt."""


def run_pytest(
    arguments: Sequence[str], limit_s: float, *, env: Mapping[str, str] | None = None, cwd: Path | None = None
) -> str:
    """Run pytest to its end, and return the last lines of what it says.

    Args:
        arguments: its command line.
        limit_s: how long it may take, in seconds.
        env: its environment; by default that of this process.
        cwd: its working directory; by default that of this process.
    """
    code, output = run_attached([sys.executable, "-m", "pytest", *arguments], limit_s, env=env, cwd=cwd)
    if code is None:
        return f"pytest did not finish within {limit_s:.0f} s"
    return "\n".join(output.splitlines()[-LAST_LINES:])


def run_attached(
    command: Sequence[str], limit_s: float, *, env: Mapping[str, str] | None = None, cwd: Path | None = None
) -> tuple[int | None, str]:
    """Run a command, and return its exit code (None: not done in time) and its output.

    Nothing that it has started is left running.

    Args:
        command: program and arguments.
        limit_s: how long it may take, in seconds.
        env: its environment; by default that of this process.
        cwd: its working directory; by default that of this process.
    """
    # Attached, it ends with all that it has started when it is asked to, and when we are gone.
    with subprocess.Popen(  # noqa: S603 ourselves
        attach_command([*command], GRACE_S),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        env=None if env is None else dict(env),
        cwd=cwd,
    ) as process:
        try:
            output, _ = process.communicate(timeout=limit_s)
        except BaseException as error:
            # Interrupted, we wait as well: what still ran would write into folders that its caller removes.
            process.terminate()
            try:
                process.wait(GRACE_S * 4)
            except subprocess.TimeoutExpired:
                process.kill()
            if isinstance(error, subprocess.TimeoutExpired):
                return None, ""
            raise
    return process.returncode, output


async def end_supervised(process: subprocess.Popen[bytes], limit_s: float) -> None:
    """Close the pipe, which has the supervisor end all that it runs; kill it if it does not end by then."""
    if process.stdin is not None:
        process.stdin.close()
    try:
        await asyncio.to_thread(process.wait, limit_s)
    except subprocess.TimeoutExpired:
        process.kill()
        await asyncio.to_thread(process.wait)
