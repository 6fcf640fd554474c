"""An MCP server as a program of ours, under our supervisor: a message a line, the long ones left out."""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from pytest_browsereval.features.mcp_browser.http import ANSWER_BYTES, TOO_LARGE, replace_halves
from pytest_browsereval.features.shared.process import end_supervised
from pytest_browsereval.features.shared.processes import supervise_command
from pytest_browsereval.redaction.known import beginning, ending

if TYPE_CHECKING:
    from mcp.client._transport import TransportStreams

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

_MOST_LINES = 10
_BYTES_READ = 16_384
_CONTROL = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|[^\t\n\x20-\x7e\x80-\U0010ffff]")


@asynccontextmanager
async def start_server(
    config: McpBrowserConfig, errors: IO[bytes], on_end: Callable[[], object]
) -> AsyncIterator[TransportStreams]:
    """Run a server while the block runs; nothing of it is left then.

    The SDK's own client reads answers of any size, and holds up the loop for the larger ones.

    Args:
        config: what it is started with; its folder, ``{folder}`` in the command, is removed at the end.
        errors: gets its standard error.
        on_end: called when it closes its output by itself.
    """
    import anyio
    from mcp.shared.message import SessionMessage
    from mcp_types import INTERNAL_ERROR, ErrorData, JSONRPCError, JSONRPCRequest, jsonrpc_message_adapter

    heard, inbox = anyio.create_memory_object_stream[Any](0)
    outbox, said = anyio.create_memory_object_stream[Any](0)
    asked: list[Any] = []
    """The ids of requests; one at a time is under way."""

    async def listen(output: asyncio.StreamReader) -> None:
        async with heard:
            async for line in _read_lines(output):
                with suppress(ValueError):  # a stray print is not a message
                    if line is None:
                        error = ErrorData(code=INTERNAL_ERROR, message=TOO_LARGE)
                        message: Any = JSONRPCError(jsonrpc="2.0", id=asked[-1], error=error)
                    else:
                        message = jsonrpc_message_adapter.validate_json(replace_halves(line), by_name=False)
                    await heard.send(SessionMessage(message))
            on_end()

    async def speak(process: subprocess.Popen[bytes]) -> None:
        assert process.stdin is not None  # noqa: S101 a pipe, as asked for
        async with said:
            async for item in said:
                if isinstance(item.message, JSONRPCRequest):
                    asked.append(item.message.id)
                text = item.message.model_dump_json(by_alias=True, exclude_unset=True)
                with suppress(OSError):  # listen() will hear the silence
                    data = f"{text}\n".encode()
                    await anyio.to_thread.run_sync(process.stdin.write, data, abandon_on_cancel=True)

    with tempfile.TemporaryDirectory(prefix="browsereval-mcp-", ignore_cleanup_errors=True) as folder:
        process = _start(config, folder, errors)
        try:
            reader = asyncio.StreamReader(limit=ANSWER_BYTES)
            await asyncio.get_running_loop().connect_read_pipe(
                lambda: asyncio.StreamReaderProtocol(reader), process.stdout
            )
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(listen, reader)
                tasks.start_soon(speak, process)
                yield inbox, outbox
                tasks.cancel_scope.cancel()
        finally:
            for stream in (heard, inbox, outbox, said):
                stream.close()
            with anyio.CancelScope(shield=True):
                await end_supervised(process, END_S)


def _start(config: McpBrowserConfig, folder: str, errors: IO[bytes]) -> subprocess.Popen[bytes]:
    words = [word.replace("{folder}", folder) for word in config.command]
    variables = {name: os.environ[name] for name in INHERITED if name in os.environ}
    variables |= {name: value.get_secret_value() for name, value in config.env.items()}
    # Not asyncio's own: that would kill the supervisor when its loop is lost, before that has ended the
    # server.
    return subprocess.Popen(  # noqa: S603 the config's own command
        supervise_command(words, GRACE_S, relay=True, folder=folder),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=errors,
        bufsize=0,
        cwd=config.cwd or Path.cwd(),
        env=variables,
        start_new_session=True,  # Ctrl-C is for pytest; the server ends when its pipe closes
    )


async def _read_lines(reader: asyncio.StreamReader) -> AsyncIterator[bytes | None]:
    """Yield what a server prints line by line; None for a line that is too long and was left out."""
    is_rest = False
    while True:
        try:
            line = await reader.readuntil(b"\n")
        except asyncio.IncompleteReadError:
            return
        except asyncio.LimitOverrunError as error:
            await reader.readexactly(error.consumed)
            if not is_rest:
                yield None
            is_rest = True
            continue
        if not is_rest:
            yield line
        is_rest = False


def read_last_words(errors: IO[bytes]) -> str:
    """Return the last lines of a server's standard error, in a sentence."""
    size = os.fstat(errors.fileno()).st_size
    tail = os.pread(errors.fileno(), 2 * _BYTES_READ, max(0, size - 2 * _BYTES_READ))
    text = ending(_CONTROL.sub("", tail.decode(errors="replace")), _BYTES_READ)
    lines = [beginning(line.strip(), 300) for line in text.splitlines() if line.strip()][-_MOST_LINES:]
    return f" Its last output: {' | '.join(lines)}" if lines else " It printed nothing to standard error."
