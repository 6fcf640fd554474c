"""HTTP to an MCP server: refusals are kept for messages, and answers have a limit."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from pytest_browsereval.addresses import find_certificates
from pytest_browsereval.redaction.known import beginning

if TYPE_CHECKING:
    import httpx2

ANSWER_BYTES = 16 * 2**20
"""The most that an answer may have; a picture of a large screen has a tenth of that."""
TOO_LARGE = f"the answer was larger than {ANSWER_BYTES // 2**20} MB and was left out"

_CONNECT_S = 30.0
_BODY_BYTES = 2_000
_LONGEST_TEXT = 300
_MESSAGES = ("application/json", "text/event-stream")
_NOT_FOUND = 404
_SESSION = "mcp-session-id"
"""With this header, 404 says that the server knows the session no more."""


@dataclass
class Watch:
    """What has gone by on the wire and the SDK does not tell."""

    refusal: str | None = None
    """Status and body of the last answer that was no message of the protocol."""
    is_too_large: bool = False
    """Whether an answer had more than it may have."""


def http_client(endpoint_url: str, headers: Mapping[str, str], watch: Watch) -> httpx2.AsyncClient:
    """Return a client for one server, without a limit for answers that take long: calls have their own.

    Args:
        endpoint_url: of the server; its query is added on the wire alone: the libraries log addresses, and
            keys stand in them.
        headers: sent with every request.
        watch: notes what goes by.
    """
    import httpx2

    query = urlsplit(endpoint_url).query

    class Watched(httpx2.AsyncHTTPTransport):
        async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
            named = request.url
            request.url = named.copy_with(query=query.encode() or None)
            try:
                response = await super().handle_async_request(request)
            finally:
                request.url = named
            if request.method != "POST":
                return response
            assert isinstance(response.stream, httpx2.AsyncByteStream)  # noqa: S101 of an async transport
            if not _is_refusal(response.status_code, response.headers.get("content-type", "")):
                response.stream = _limit_stream(response.stream, watch)
                return response
            body = await _read_beginning(response.stream)
            # The specification has 404 say so; servers wrap it in an error of the protocol that the SDK
            # passes on.
            has_lost = response.status_code == _NOT_FOUND and _SESSION in request.headers
            if has_lost or not _is_error(body):
                watch.refusal = _describe_refusal(response.status_code, response.reason_phrase, body)
            kept = [(k, v) for k, v in response.headers.items() if k.lower() != "content-length"]
            return httpx2.Response(response.status_code, headers=kept, content=body, request=request)

    return httpx2.AsyncClient(
        # An answer that is packed could be of any size once unpacked.
        headers={"accept-encoding": "identity", **headers},
        timeout=httpx2.Timeout(_CONNECT_S, read=None),
        transport=Watched(verify=find_certificates(endpoint_url)),
    )


_ESCAPE = re.compile(
    rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(u[dD][89a-fA-F][0-9a-fA-F]{2})|.)"
)


def replace_halves(data: bytes) -> bytes:
    """Return JSON of the same length with U+FFFD for each half of a character, which the SDK cannot read."""
    return _ESCAPE.sub(lambda match: rb"\ufffd" if match[1] else match[0], data)


def _limit_stream(stream: httpx2.AsyncByteStream, watch: Watch) -> httpx2.AsyncByteStream:
    import httpx2

    class Limited(httpx2.AsyncByteStream):
        async def __aiter__(self) -> AsyncIterator[bytes]:
            size, rest = 0, list[bytes]()
            async for chunk in stream:
                size += len(chunk)
                if size > ANSWER_BYTES:
                    watch.is_too_large = True
                    raise httpx2.StreamError(TOO_LARGE)
                lines, newline, last = chunk.rpartition(b"\n")  # no escape goes over the end of a line
                if newline:
                    yield replace_halves(b"".join((*rest, lines, newline)))
                    rest.clear()
                rest.append(last)
            yield replace_halves(b"".join(rest))

        async def aclose(self) -> None:
            await stream.aclose()

    return Limited()


def _is_refusal(status: int, content_type: str) -> bool:
    # Accepted without an answer: what a notification gets.
    if status == 202:
        return False
    return status >= 300 or not content_type.lower().startswith(_MESSAGES)


async def _read_beginning(stream: httpx2.AsyncByteStream) -> bytes:
    body = bytearray()
    async for chunk in stream:
        body += chunk
        if len(body) >= _BODY_BYTES:
            break
    await stream.aclose()
    return bytes(body[:_BODY_BYTES])


def _is_error(body: bytes) -> bool:
    """Return whether it is an error of the protocol, which the SDK tells itself."""
    with suppress(ValueError):
        parsed = json.loads(body)
        return isinstance(parsed, dict) and "jsonrpc" in parsed and "error" in parsed
    return False


def _describe_refusal(status: int, phrase: str, body: bytes) -> str:
    # Half of it first: its last bytes may be a part of a secret.
    words = beginning(body.decode(errors="replace"), _BODY_BYTES // 2).split()
    text = beginning(" ".join(words), _LONGEST_TEXT)
    return f"with HTTP status {status} {phrase}".rstrip() + (f": {text}" if text else "")
