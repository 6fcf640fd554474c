"""A program that runs for one attempt: its variables, its output as it comes, and its end."""

from __future__ import annotations

import asyncio
import subprocess
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO

from pytest_browsereval.errors import ErrorSource, Fault
from pytest_browsereval.features.shared.process import end_supervised
from pytest_browsereval.features.shared.processes import supervise_command
from pytest_browsereval.temporary import read_environment

OUTPUT_LIMIT_BYTES, LINE_LIMIT_BYTES = 64_000_000, 8_000_000
"""A program that prints more than this, in all or in one line, is stopped."""

_POLL_S = 0.05
_DRAIN_S = 2.0
"""How long nothing may come of output that has not ended, once the program has."""

BASE = (
    *("PATH", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "LC_ALL", "LC_CTYPE", "TZ", "TERM"),
    *("TMPDIR", "TMP", "TEMP", "SSL_CERT_FILE", "SSL_CERT_DIR", "XDG_RUNTIME_DIR"),
    *("SYSTEMROOT", "WINDIR", "COMSPEC", "PATHEXT", "PROGRAMDATA"),
)
"""What programs need to run at all on Linux, macOS and Windows: no key, and nobody's home."""

_PROXIES = frozenset({"http_proxy", "https_proxy", "all_proxy"})
_LOOPBACK = "127.0.0.1,localhost"


def environment(names: Iterable[str], given: Mapping[str, str]) -> dict[str, str]:
    """Return the variables of a program.

    Args:
        names: variables of ours that are passed on besides the base, where they are set.
        given: variables that are set for it.
    """
    ours = read_environment()
    passed = {name: ours[name] for name in (*BASE, *names) if name in ours}
    result = {**passed, **given}
    if _PROXIES & {name.lower() for name in result}:  # our own server is not reached by a proxy
        for name in ("NO_PROXY", "no_proxy"):
            result[name] = ",".join(filter(None, (result.get(name), _LOOPBACK)))
    return result


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
        pipes = ((self._process.stdout, out), (self._process.stderr, err))
        self._readers = [asyncio.ensure_future(self._follow(pipe, take)) for pipe, take in pipes if pipe]

    async def ended(self) -> int:
        """Wait until it has ended and its output is read; return its exit code.

        Raises:
            Fault: it has printed too much.
            LimitReached: as taking its lines does.
        """
        code, pending = None, set(self._readers)
        # What it has printed is taken, however long that takes: a step has a picture.
        while code is None or (pending and (self._taking or time.monotonic() < self._last_read + _DRAIN_S)):
            if pending:
                _, pending = await asyncio.wait(pending, timeout=_POLL_S)
            else:
                await asyncio.sleep(_POLL_S)
            # What a reader has raised ends the attempt: a limit, or too much output.
            for reader in self._readers:
                if reader.done():
                    reader.result()
            if code is None and (code := self._process.poll()) is not None:
                self._last_read = time.monotonic()
        return code

    async def _follow(self, pipe: IO[bytes], take: TakeLine) -> None:
        reader = asyncio.StreamReader(limit=LINE_LIMIT_BYTES)
        transport, _ = await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), pipe
        )
        try:
            while line := await self._read_line(reader):
                self._taking += 1
                await take(line.removesuffix(b"\n"))
                self._taking -= 1
                self._last_read = time.monotonic()
        finally:
            transport.close()

    async def _read_line(self, reader: asyncio.StreamReader) -> bytes:
        with suppress(ValueError):  # the line is too long
            line = await reader.readline()
            self._printed += len(line)
            if self._printed <= OUTPUT_LIMIT_BYTES:
                return line
        limits = f"{OUTPUT_LIMIT_BYTES} bytes, or {LINE_LIMIT_BYTES} in one line"
        raise Fault(ErrorSource.AGENT, f"the program printed more than {limits}, and was stopped")

    async def close(self) -> None:
        """Close the pipe, which ends the program and all that it has started."""
        for reader in self._readers:
            reader.cancel()
        try:
            await end_supervised(self._process, self._grace_s + _DRAIN_S)
        finally:
            await asyncio.gather(*self._readers, return_exceptions=True)
            for pipe in (self._process.stdout, self._process.stderr):
                if pipe is not None:
                    pipe.close()  # a reader that was cancelled before it began has not
