"""A bound for what the server of a model sends: cut off while it is read, not after."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from pytest_browsereval.llm.retries import TryFailed

MAX_REPLY_BYTES = 16 * 1024 * 1024
"""Of a reply, unpacked; what models write takes a hundredth of it."""

MAX_STREAM_BYTES = 64 * 1024 * 1024
"""Of a streamed reply, in which each word has its own envelope."""


async def bound_reply(response: Any) -> None:
    """Have a reply end with ``TryFailed`` where it is too long; a hook of the HTTP client.

    Args:
        response: of httpx or httpx2, whichever the ``openai`` package brings; nothing of it has been read.
    """
    is_stream = response.headers.get("content-type", "").startswith("text/event-stream")
    limit = MAX_STREAM_BYTES if is_stream else MAX_REPLY_BYTES
    read_pieces = response.aiter_bytes

    async def read(chunk_size: int | None = None) -> AsyncIterator[bytes]:
        size = 0
        async for piece in read_pieces(chunk_size):
            size += len(piece)
            if size > limit:
                raise TryFailed(f"the reply is longer than {limit} bytes", is_final=True)
            yield piece

    # All of a reply is read by this method, piece by piece and unpacked.
    response.aiter_bytes = read
