"""Replies of models are bounded while they are read."""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import AsyncIterator

import httpx
import pytest

from pytest_browsereval.llm import bounded
from pytest_browsereval.llm.bounded import bound_reply
from pytest_browsereval.llm.retries import TryFailed


class Stream(httpx.AsyncByteStream):
    """Sends a reply in small pieces, and counts them."""

    def __init__(self, data: bytes) -> None:
        self.pieces = [data[start : start + 1_000] for start in range(0, len(data), 1_000)]
        self.sent = 0

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self.pieces:
            self.sent += 1
            yield piece


def test_a_reply_is_cut_off_at_the_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """Packed or not, the rest is not read; the bound is that of the unpacked text."""
    monkeypatch.setattr(bounded, "MAX_REPLY_BYTES", 100_000)

    async def read(data: bytes, encoding: str, stream: Stream) -> bytes:
        response = httpx.Response(200, headers={"content-encoding": encoding}, stream=stream)
        await bound_reply(response)
        return await response.aread()

    long, bomb = b"x" * 1_000_000, gzip.compress(b"x" * 10_000_000)
    for data, encoding in ((long, "identity"), (bomb, "gzip")):
        stream = Stream(data)
        with pytest.raises(TryFailed, match="longer than 100000 bytes") as told:
            asyncio.run(read(data, encoding, stream))
        assert not told.value.is_worth_a_retry
        assert stream.sent < len(stream.pieces)
    whole = gzip.compress(b"y" * 50_000)
    assert asyncio.run(read(whole, "gzip", Stream(whole))) == b"y" * 50_000
