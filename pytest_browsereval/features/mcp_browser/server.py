"""The wires to an MCP server: HTTP, and a program of ours under our supervision."""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any
from urllib.parse import urlsplit

from pytest_browsereval.addresses import find_certificates
from pytest_browsereval.features.shared.process import end_supervised
from pytest_browsereval.features.shared.processes import supervise_command
from pytest_browsereval.redaction.known import beginning, ending

if TYPE_CHECKING:
    import httpx2
    from mcp.client._transport import TransportStreams

    from pytest_browsereval.features.mcp_browser.config import McpBrowserConfig

ANSWER_BYTES = 16 * 2**20
"""The most that an answer may have; a picture of a large screen has a tenth of that."""
TOO_LARGE = f"the answer was larger than {ANSWER_BYTES // 2**20} MB and was left out"

_LONGEST_TEXT = 300

_ESCAPE = re.compile(
    rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(u[dD][89a-fA-F][0-9a-fA-F]{2})|.)"
)


def replace_halves(data: bytes) -> bytes:
    """Return JSON of the same length with U+FFFD for each half of a character, which the SDK cannot read."""
    return _ESCAPE.sub(lambda match: rb"\ufffd" if match[1] else match[0], data)


# -- over HTTP

_CONNECT_S = 30.0
_BODY_BYTES = 2_000
_MESSAGES = ("application/json", "text/event-stream")
_SESSION = "mcp-session-id"
"""With this header, 404 says that the server knows the session no more."""


@dataclass
class Watch:
    """What has gone by on the wire and the SDK does not tell."""

    refusal: str | None = None
    """Status and body of the last answer that was no message of the protocol."""
    is_too_large: bool = False
    """Whether an answer had more than it may have."""

    def note_refusal(self, response: httpx2.Response, body: bytes, *, has_session: bool) -> None:
        """Note an answer, unless it is an error of the protocol, which the SDK tells itself."""
        with suppress(ValueError):
            parsed = json.loads(body)
            # The specification has 404 say that a session is lost; servers wrap it in such an error.
            is_lost = has_session and response.status_code == 404
            if isinstance(parsed, dict) and {"jsonrpc", "error"} <= {*parsed} and not is_lost:
                return
        # Half of it first: its last bytes may be a part of a secret.
        text = " ".join(beginning(body.decode(errors="replace"), _BODY_BYTES // 2).split())
        status = f"with HTTP status {response.status_code} {response.reason_phrase}".rstrip()
        self.refusal = status + (f": {beginning(text, _LONGEST_TEXT)}" if text else "")


@asynccontextmanager
async def connect_http(config: McpBrowserConfig, watch: Watch) -> AsyncIterator[TransportStreams]:
    """Connect to a running server, without a limit for answers that take long: calls have their own."""
    from mcp.client.streamable_http import streamable_http_client

    endpoint = urlsplit(config.url or "")
    headers = {name: value.get_secret_value() for name, value in config.headers.items()}
    async with (
        _http_client(config.url or "", headers, watch) as client,
        # Its own limit of an event is ours.
        streamable_http_client(
            endpoint._replace(query="").geturl(), http_client=client, max_sse_event_size=None
        ) as streams,
    ):
        yield streams


def _http_client(endpoint_url: str, headers: dict[str, str], watch: Watch) -> httpx2.AsyncClient:
    import httpx2

    query = urlsplit(endpoint_url).query.encode() or None

    class Watched(httpx2.AsyncHTTPTransport):
        async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
            # Added on the wire alone: the libraries log addresses, and keys stand in the query.
            named = request.url
            request.url = named.copy_with(query=query)
            try:
                response = await super().handle_async_request(request)
            finally:
                request.url = named
            kind = response.headers.get("content-type", "").lower()
            is_message = response.status_code < 300 and kind.startswith(_MESSAGES)
            assert isinstance(response.stream, httpx2.AsyncByteStream)  # noqa: S101 of an async transport
            if request.method != "POST" or response.status_code == 202:  # what a notification gets
                return response
            if is_message:
                response.stream = Limited(response.stream)
                return response
            body = await _read_beginning(response.stream)
            watch.note_refusal(response, body, has_session=_SESSION in request.headers)
            kept = [(k, v) for k, v in response.headers.items() if k.lower() != "content-length"]
            return httpx2.Response(response.status_code, headers=kept, content=body, request=request)

    class Limited(httpx2.AsyncByteStream):
        def __init__(self, stream: httpx2.AsyncByteStream) -> None:
            self._stream = stream

        async def __aiter__(self) -> AsyncIterator[bytes]:
            size, rest = 0, bytearray()
            async for chunk in self._stream:
                size += len(chunk)
                if size > ANSWER_BYTES:
                    watch.is_too_large = True
                    raise httpx2.StreamError(TOO_LARGE)
                rest += chunk
                if b"\n" in chunk:  # no escape goes over the end of a line
                    lines, newline, last = bytes(rest).rpartition(b"\n")
                    yield replace_halves(lines + newline)
                    rest = bytearray(last)
            yield replace_halves(bytes(rest))

        async def aclose(self) -> None:
            await self._stream.aclose()

    return httpx2.AsyncClient(
        # An answer that is packed could be of any size once unpacked.
        headers={"accept-encoding": "identity", **headers},
        timeout=httpx2.Timeout(_CONNECT_S, read=None),
        transport=Watched(verify=find_certificates(endpoint_url)),
    )


async def _read_beginning(stream: httpx2.AsyncByteStream) -> bytes:
    body = bytearray()
    async for chunk in stream:
        body += chunk
        if len(body) >= _BODY_BYTES:
            break
    await stream.aclose()
    return bytes(body[:_BODY_BYTES])


# -- over standard input and output

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
    config: McpBrowserConfig, errors: IO[bytes], on_end: Callable[..., object]
) -> AsyncIterator[TransportStreams]:
    """Run a server while the block runs; nothing of it is left then.

    The SDK's own client reads answers of any size, drops those with half a character, and kills our
    supervisor.

    Args:
        config: what it is started with; its folder, ``{folder}`` in the command, is removed at the end.
        errors: gets its standard error.
        on_end: called when it closes its output by itself; with why, when we do.
    """
    import anyio
    from mcp.shared.message import SessionMessage
    from mcp_types import jsonrpc_message_adapter

    heard, inbox = anyio.create_memory_object_stream[Any](0)
    outbox, said = anyio.create_memory_object_stream[Any](0)

    async def listen(output: asyncio.StreamReader) -> None:
        async with heard:
            try:
                while line := await output.readline():
                    with suppress(ValueError):  # a stray print is not a message
                        message = jsonrpc_message_adapter.validate_json(replace_halves(line), by_name=False)
                        await heard.send(SessionMessage(message))
                on_end()
            except ValueError:  # of the reader
                on_end(f"answered with more than {ANSWER_BYTES // 2**20} MB")

    async def speak(process: subprocess.Popen[bytes]) -> None:
        assert process.stdin is not None  # noqa: S101 a pipe, as asked for
        async with said:
            async for item in said:
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


def read_last_words(errors: IO[bytes]) -> str:
    """Return the last lines of a server's standard error, in a sentence."""
    size = os.fstat(errors.fileno()).st_size
    tail = os.pread(errors.fileno(), 2 * _BYTES_READ, max(0, size - 2 * _BYTES_READ))
    text = ending(_CONTROL.sub("", tail.decode(errors="replace")), _BYTES_READ)
    lines = [beginning(line.strip(), _LONGEST_TEXT) for line in text.splitlines() if line.strip()]
    said = " | ".join(lines[-_MOST_LINES:])
    return f" Its last output: {said}" if said else " It printed nothing to standard error."
