"""A bound for what the server of a model sends: cut off while it is read, not after."""

from __future__ import annotations

import sys
import zlib
from collections.abc import AsyncIterator, Iterator
from typing import Any

from pytest_browsereval.llm.retries import TryFailed
from pytest_browsereval.redaction.known import beginning

MAX_REPLY_BYTES = 16 * 1024 * 1024
"""Of a reply, unpacked; what models write takes a hundredth of it."""

MAX_STREAM_BYTES = 64 * 1024 * 1024
"""Of a streamed reply, in which each word has its own envelope."""

ENCODINGS = "gzip, deflate"
"""What is asked for: what is unpacked here, piece by piece."""

_PIECE_BYTES = 64 * 1024
_WINDOWS = {"gzip": zlib.MAX_WBITS | 16, "x-gzip": zlib.MAX_WBITS | 16, "deflate": zlib.MAX_WBITS}


async def bound_reply(response: Any) -> None:
    """Have a reply end with an error where it is too long; a hook of the HTTP client.

    Args:
        response: of httpx or httpx2, whichever the ``openai`` package brings; nothing of it has been read.

    Raises:
        TryFailed: it is packed in a way that was not asked for.
    """
    packed = response.headers.pop("content-encoding", "identity").strip().lower()
    if packed != "identity" and packed not in _WINDOWS:
        raise TryFailed(
            f"the reply is packed as {beginning(packed, 40)!r}, which was not asked for", is_final=True
        )
    is_stream = response.headers.get("content-type", "").startswith("text/event-stream")
    limit = MAX_STREAM_BYTES if is_stream else MAX_REPLY_BYTES
    library = sys.modules[type(response).__module__.partition(".")[0]]
    base: Any = library.AsyncByteStream
    # Made here, since which of the two libraries it is shows here only.
    bounded: Any = type("BoundedStream", (_Bounded, base), {})
    response.stream = bounded(response.stream, _WINDOWS.get(packed), limit)


class _Bounded:
    """The bytes of a reply, unpacked."""

    def __init__(self, stream: Any, window: int | None, limit: int) -> None:
        self._stream = stream
        self._unpacker = None if window is None else zlib.decompressobj(window)
        self._limit = limit

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for packed in self._stream:
            for piece in self._unpack(packed):
                size += len(piece)
                if size > self._limit:
                    raise TryFailed(f"the reply is longer than {self._limit} bytes", is_final=True)
                yield piece

    def _unpack(self, packed: bytes) -> Iterator[bytes]:
        unpacker = self._unpacker
        if unpacker is None:
            yield packed
            return
        try:
            while packed:
                # Piece by piece: a few kilobytes can unpack to gigabytes.
                yield unpacker.decompress(packed, _PIECE_BYTES)
                packed = unpacker.unconsumed_tail
        except zlib.error as error:
            raise TryFailed(f"the reply cannot be unpacked: {error}") from None

    async def aclose(self) -> None:
        await self._stream.aclose()
