"""An MCP server as a process of ours: lines in, lines out, and its end with all that it has started."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import subprocess
import tempfile
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import IO, TYPE_CHECKING

from pytest_browsereval.processes import supervise_command
from pytest_browsereval.redaction.known import beginning, ending

if TYPE_CHECKING:
    from pytest_browsereval.features.mcp_browser.config import McpBrowserConfig

GRACE_S = 2.0
"""Between asking a server to end and the next, less polite step."""
END_S = GRACE_S + 15.0
"""How long the end may take in all. The supervisor sees to it; one that is killed because the machine is busy
would leave what it holds."""

INHERITED = (
    *("HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER", "TMPDIR", "LANG", "LC_ALL", "TZ"),
    *("DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "XDG_RUNTIME_DIR"),
    *("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy"),
)
"""What a server gets of our environment: it is a foreign program, to which keys of models are not given."""

_CHUNK = 65_536
_MOST_LINES = 10
_BYTES_READ = 16_384
_CONTROL = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|[^\t\n\x20-\x7e\x80-\U0010ffff]")


class ServerProcess:
    """One running server. Its folder, ``{folder}`` in the command, is removed when it has ended.

    Args:
        config: what it is started with.

    Raises:
        OSError: it cannot be started.
    """

    def __init__(self, config: McpBrowserConfig) -> None:
        # A file and not a pipe: a pipe that nobody reads stops the server once it is full.
        self._output: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 closed by end()
        self._folder = tempfile.TemporaryDirectory(prefix="browsereval-mcp-", ignore_cleanup_errors=True)
        self._writer: asyncio.StreamWriter | None = None
        self._reader = asyncio.StreamReader()
        self._last_words: list[str] = []
        words = [word.replace("{folder}", self._folder.name) for word in config.command]
        variables = {name: os.environ[name] for name in INHERITED if name in os.environ}
        variables |= {name: value.get_secret_value() for name, value in config.env.items()}
        try:
            # Not asyncio's own: that would kill the supervisor when its loop is lost, before that has
            # ended the server.
            self._process = subprocess.Popen(  # noqa: S603 the config's own command
                supervise_command(words, GRACE_S, relay=True, folder=self._folder.name),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._output,
                bufsize=0,
                cwd=config.cwd or Path.cwd(),
                env=variables,
                start_new_session=True,  # Ctrl-C is for pytest; the server ends when its pipe closes
            )
        except OSError:
            self._tidy()
            raise

    async def connect(self) -> None:
        """Take hold of its pipes; call it once."""
        loop = asyncio.get_running_loop()
        await loop.connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(self._reader, loop=loop), self._process.stdout
        )
        transport, protocol = await loop.connect_write_pipe(
            lambda: asyncio.StreamReaderProtocol(asyncio.StreamReader(), loop=loop), self._process.stdin
        )
        self._writer = asyncio.StreamWriter(transport, protocol, None, loop)

    async def write(self, line: bytes) -> None:
        """Send a line.

        Raises:
            OSError: it reads no more.
        """
        assert self._writer is not None  # noqa: S101 connected before it is used
        self._writer.write(line + b"\n")
        await self._writer.drain()

    async def lines(self, limit: int, on_large: Callable[[], object]) -> AsyncIterator[bytes]:
        """Yield what it prints, line by line, until it closes its output.

        Args:
            limit: bytes of a line; longer ones are left out as they come, so that they take no memory.
            on_large: called once for each that is left out.
        """
        parts: list[bytes] = []
        size = 0
        while rest := await self._reader.read(_CHUNK):
            newline = b"\n"
            while newline:
                line, newline, rest = rest.partition(b"\n")
                was_small, size = size <= limit, size + len(line)
                if size <= limit:
                    parts.append(line)
                elif was_small:
                    parts.clear()
                    on_large()
                if newline:
                    if parts and size <= limit:
                        yield b"".join(parts)
                    parts, size = [], 0

    async def end(self) -> None:
        """Close the pipe, which ends the server; kill what does not end by then. Never raises."""
        if self._writer is not None:
            self._writer.close()
        elif self._process.stdin is not None:
            self._process.stdin.close()
        try:
            await asyncio.to_thread(self._process.wait, END_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            await asyncio.to_thread(self._process.wait)
        self._tidy()

    def _tidy(self) -> None:
        self._last_words = self._last_lines()
        self._output.close()
        self._folder.cleanup()

    def describe_end(self) -> str:
        """Return how it ended, if it has, and the last lines of its standard error."""
        code = self._process.poll()
        state = "" if code is None else f" Its process ended with exit code {code}."
        lines = self._last_lines()
        said = f" Its last words: {' | '.join(lines)}" if lines else " It printed nothing to standard error."
        return state + said

    def wait_a_moment(self) -> None:
        """Give a process that has closed its output the time to have an exit code."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(GRACE_S)

    def _last_lines(self) -> list[str]:
        if self._output.closed:
            return self._last_words
        size = os.fstat(self._output.fileno()).st_size
        tail = os.pread(self._output.fileno(), 2 * _BYTES_READ, max(0, size - 2 * _BYTES_READ))
        text = ending(_CONTROL.sub("", tail.decode(errors="replace")), _BYTES_READ)
        return [beginning(line.strip(), 300) for line in text.splitlines() if line.strip()][-_MOST_LINES:]
