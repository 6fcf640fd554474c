"""A program that runs for one attempt: supervised, its output read as it comes, nothing of it left behind."""

from __future__ import annotations

import asyncio
import contextlib
import subprocess
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from pathlib import Path
from typing import IO

from pytest_browsereval.errors import ErrorSource, Fault
from pytest_browsereval.features.shared.processes import supervise_command
from pytest_browsereval.redaction.known import beginning

OUTPUT_LIMIT_BYTES = 64_000_000
"""A program that prints more than this is stopped."""
LINE_LIMIT_BYTES = 1_000_000
"""A longer line is read as several."""

_POLL_S = 0.05
_DRAIN_S = 2.0
"""How long nothing may come of output that has not ended, once the program has."""
_CHUNK_BYTES = 65_536

TakeLine = Callable[[bytes], Awaitable[None]]


class Program:
    """One run of a program; once it is closed, nothing of it runs any more.

    Args:
        command: program and arguments; never a shell line.
        folder: where it runs.
        env: all of its variables.
        stdin: the file that is its standard input; None gives it none.
        grace_s: the time between asking it to end and killing it.
        out: given each line of standard output, in turn; what it raises ends the reading.
        err: the same for standard error.

    Raises:
        Fault: source *agent*, when it cannot be started.
    """

    def __init__(
        self,
        command: list[str],
        folder: Path,
        env: Mapping[str, str],
        *,
        stdin: Path | None,
        grace_s: float,
        out: TakeLine,
        err: TakeLine,
    ) -> None:
        self._grace_s = grace_s
        self._printed = 0
        self._taking = 0
        """How many readers are at work on what they have read."""
        self._last_read = time.monotonic()
        try:
            # Not asyncio's own: that would kill the supervisor when its loop is lost, before it has
            # ended the program.
            self._process = subprocess.Popen(  # noqa: S603 the config's own command
                supervise_command(command, grace_s, stdin=str(stdin) if stdin else None),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                cwd=folder,
                env=dict(env),
                start_new_session=True,  # Ctrl-C is for pytest; the program ends when its pipe closes
            )
        except (OSError, ValueError) as error:
            raise Fault(ErrorSource.AGENT, f"{command[0]!r} cannot be started: {error}") from None
        assert self._process.stdout is not None  # noqa: S101 pipes, as asked for
        assert self._process.stderr is not None  # noqa: S101 the same
        self._readers = [
            asyncio.ensure_future(self._follow(self._process.stdout, out)),
            asyncio.ensure_future(self._follow(self._process.stderr, err)),
        ]

    async def ended(self) -> int:
        """Wait until it has ended and its output is read; return its exit code.

        Raises:
            Fault: it has printed too much.
            LimitReached: as taking its lines does.
        """
        while (code := self._process.poll()) is None:
            done, pending = await asyncio.wait(self._readers, timeout=_POLL_S)
            # What a reader has raised ends the attempt: a limit, or too much output.
            for reader in done:
                reader.result()
            if not pending:
                await asyncio.sleep(_POLL_S)
        self._last_read = time.monotonic()
        pending = set(self._readers)
        # What it has printed is taken, however long that takes: a step has a picture.
        while pending and (self._taking or time.monotonic() < self._last_read + _DRAIN_S):
            done, pending = await asyncio.wait(self._readers, timeout=_POLL_S)
            for reader in done:
                reader.result()
        return code

    async def _follow(self, pipe: IO[bytes], take: TakeLine) -> None:
        reader = asyncio.StreamReader()
        transport, _ = await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), pipe
        )
        try:
            rest = b""
            while chunk := await reader.read(_CHUNK_BYTES):
                with self._at_work():
                    self._printed += len(chunk)
                    if self._printed > OUTPUT_LIMIT_BYTES:
                        message = f"the program printed more than {OUTPUT_LIMIT_BYTES} bytes and was stopped"
                        raise Fault(ErrorSource.AGENT, message)
                    # Split as bytes: a chunk may end within a character.
                    *lines, rest = (rest + chunk).split(b"\n")
                    if len(rest) > LINE_LIMIT_BYTES:
                        # Not all of it: a secret that is cut in two would not be found in either part.
                        head = _head_of(rest)
                        lines, rest = [*lines, head], rest[len(head) :]
                    for line in lines:
                        await take(line)
            if rest:
                await take(rest)
        finally:
            transport.close()

    @contextlib.contextmanager
    def _at_work(self) -> Iterator[None]:
        self._taking += 1
        try:
            yield
        finally:
            self._taking -= 1
            self._last_read = time.monotonic()

    async def close(self) -> None:
        """Close the pipe, which ends the program and all that it has started."""
        for reader in self._readers:
            reader.cancel()
        process = self._process
        if process.stdin is not None:
            process.stdin.close()
        try:
            async with asyncio.timeout(self._grace_s + _DRAIN_S):
                while process.poll() is None:  # noqa: ASYNC110 a process sets no event
                    await asyncio.sleep(_POLL_S / 5)
        except TimeoutError:
            process.kill()
            process.wait()
        finally:
            await asyncio.gather(*self._readers, return_exceptions=True)
            for pipe in (process.stdout, process.stderr):
                if pipe is not None:
                    pipe.close()  # a reader that was cancelled before it began has not


def _head_of(line: bytes) -> bytes:
    """Return the beginning of a line that is not at its end; what may be half read is left."""
    text = line.decode("utf-8", "surrogateescape")
    return beginning(text, len(text) - _CHUNK_BYTES).encode("utf-8", "surrogateescape")
