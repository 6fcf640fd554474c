"""Verifier programs: run without our environment, within limits, and with nothing of them left behind.

Each has a supervisor: what it starts ends with it, a daemon too, and where our own process is killed.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import signal
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from pytest_browsereval.features.shared.processes import NOT_STARTED, supervise_command
from pytest_browsereval.graders.base import GraderFault
from pytest_browsereval.redaction.known import beginning, ending

_RAISED = re.compile(r"([\w$]+[.:/])*[\w$]*(Error|Exception)\b|panic:|Uncaught ")
"""How a line begins that says what a program raised, in several languages."""
OUTPUT_LIMIT_BYTES = 20_000_000
"""A program that prints more is killed."""
LINE_LIMIT_BYTES = 1_000_000
"""Of the standard output no more than this is read, from its end."""
POLL_S = 0.1
GRACE_S = 0.5
"""Between asking a program to end and killing it."""
END_LIMIT_S = 20.0
"""For the end of a program and of all that it has started: long: a supervisor that is killed ends nothing."""


@dataclass(frozen=True)
class Ran:
    """The result of a program."""

    output: bytes
    """The end of what it printed."""
    code: int
    complaint: str
    """The last lines of its standard error, in one."""

    @property
    def lines(self) -> list[str]:
        """What it printed, without empty lines."""
        return [line for line in self.output.decode(errors="replace").splitlines() if line.strip()]


async def run_verifier(
    arguments: list[str],
    cwd: Path,
    home: Path,
    *,
    timeout_s: float,
    name: str,
    limit_bytes: int = LINE_LIMIT_BYTES,
) -> Ran:
    """Run a program to its end.

    Args:
        arguments: program and arguments, never a shell line.
        cwd: where it runs.
        home: a temporary folder, its home; of our own variables it is given PATH only.
        timeout_s: after this it is killed with all that it has started.
        name: what messages call it.
        limit_bytes: of its output that are kept, from the end.

    Raises:
        Fault: it cannot be started, takes too long or prints too much.
    """
    # Files, not pipes: a pipe is open for as long as any child of the program lives.
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        try:
            process = await _start(supervise_command(arguments, GRACE_S), cwd, home, output, errors)
        except OSError as error:
            raise GraderFault(f"{name} cannot be started: {error}") from None
        await _wait_for_end(process, timeout_s, name, output, errors)
        said = ending(_tail(errors, 100_000).decode(errors="replace"), 99_000).strip()
        *_, last = said.splitlines() or [""]
        if process.returncode == NOT_STARTED and last.startswith("cannot run "):
            raise GraderFault(f"{name} cannot be started: {last}")
        return Ran(_tail(output, limit_bytes), process.returncode or 0, _find_complaint(said))


def _find_complaint(said: str) -> str:
    """Return what a program complained of in one line: an exception first, else its last lines."""
    lines = said.splitlines()
    places = [place for place, line in enumerate(lines) if _RAISED.match(line)]
    if not places:
        return ending(" | ".join(lines[-5:]), 500)
    frames = [line.strip() for line in lines[: places[-1]] if line.startswith('  File "')]
    return beginning(" | ".join([*map(str.strip, lines[places[-1] :]), *frames[-1:]]), 500)


async def _start(
    command: list[str], cwd: Path, home: Path, output: IO[bytes], errors: IO[bytes]
) -> asyncio.subprocess.Process:
    """Start a supervisor. Where this is cancelled the supervisor ends the program.

    A cancelled ``create_subprocess_exec`` would kill the supervisor, and what it started would live on.
    """
    # Keys of providers and CI are in the environment, and the program comes from a dataset.
    environment = {"PATH": os.environ.get("PATH", os.defpath), "LANG": "C.UTF-8"}
    environment |= dict.fromkeys(("HOME", "TMPDIR"), str(home))
    starting = asyncio.ensure_future(
        asyncio.create_subprocess_exec(
            *command,
            cwd=cwd,
            env=environment,
            stdin=asyncio.subprocess.PIPE,  # the supervisor: all ends when this process does
            stdout=output,
            stderr=errors,
            # Ctrl-C in the terminal goes to pytest alone, which then ends the program in order.
            start_new_session=True,
        )
    )
    try:
        return await asyncio.shield(starting)
    except asyncio.CancelledError:
        with contextlib.suppress(OSError):  # it did not start
            await _let_go(await starting)
        raise


async def _wait_for_end(
    process: asyncio.subprocess.Process, timeout_s: float, name: str, *outputs: IO[bytes]
) -> None:
    """Wait for the program within its limits, and end everything that it has started in any case."""
    waiting = asyncio.ensure_future(process.wait())
    try:
        async with asyncio.timeout(timeout_s):
            while not waiting.done():
                # The size of a file cannot be waited for, so it is looked at now and then.
                await asyncio.wait({waiting}, timeout=POLL_S)
                if any(os.fstat(file.fileno()).st_size > OUTPUT_LIMIT_BYTES for file in outputs):
                    raise GraderFault(f"{name} printed more than {OUTPUT_LIMIT_BYTES} bytes and was killed")
    except TimeoutError:
        raise GraderFault(f"{name} did not end within {timeout_s:g} s and was killed") from None
    finally:
        await _let_go(process)


async def _let_go(process: asyncio.subprocess.Process) -> None:
    """Let go of the supervisor and wait until it has ended what the program has started."""
    if process.stdin is not None:
        process.stdin.close()
    waiting = asyncio.ensure_future(process.wait())
    await asyncio.wait({waiting}, timeout=END_LIMIT_S)
    if not waiting.done():  # the program has stopped it
        os.killpg(process.pid, signal.SIGKILL)
        await asyncio.shield(waiting)


def _tail(file: IO[bytes], limit: int) -> bytes:
    file.seek(max(0, os.fstat(file.fileno()).st_size - limit))
    return file.read(limit)
