"""Replies of models are bounded while they are read."""

from __future__ import annotations

import asyncio
import gzip
import zlib
from collections.abc import AsyncIterator

import httpx
import pytest

from pytest_browsereval.llm import bounded
from pytest_browsereval.llm.bounded import bound_reply
from pytest_browsereval.llm.retries import TryFailed


class Stream(httpx.AsyncByteStream):
    def __init__(self, *chunks: bytes) -> None:
        self.chunks = chunks

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for chunk in self.chunks:
            yield chunk


def read(*chunks: bytes, encoding: str = "identity") -> list[bytes]:
    """Return the pieces in which a reply is read."""

    async def all_of_it() -> list[bytes]:
        response = httpx.Response(200, headers={"content-encoding": encoding}, stream=Stream(*chunks))
        await bound_reply(response)
        return [piece async for piece in response.aiter_bytes()]

    return asyncio.run(all_of_it())


def test_no_more_is_unpacked_than_the_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """One chunk that would be a hundred times the bound is unpacked piece by piece, up to the bound."""
    monkeypatch.setattr(bounded, "MAX_REPLY_BYTES", 100_000)
    sizes: list[int] = []

    class Counted:
        def __init__(self) -> None:
            self._real = _REAL(zlib.MAX_WBITS | 16)

        def decompress(self, data: bytes, most: int) -> bytes:
            piece = self._real.decompress(data, most)
            sizes.append(len(piece))
            return piece

        @property
        def unconsumed_tail(self) -> bytes:
            return self._real.unconsumed_tail

    monkeypatch.setattr(zlib, "decompressobj", lambda _window: Counted())
    with pytest.raises(TryFailed, match="longer than 100000 bytes") as told:
        read(_BOMB, encoding="gzip")
    assert not told.value.is_worth_a_retry
    assert sum(sizes) <= 200_000


_REAL = zlib.decompressobj
_BOMB = gzip.compress(b"x" * 10_000_000)


@pytest.mark.parametrize(
    ("chunk", "encoding", "told"),
    [(b"abc", "br", "packed as 'br'"), (b"abc", "gzip", "cannot be unpacked")],
)
def test_what_cannot_be_unpacked_is_refused(chunk: bytes, encoding: str, told: str) -> None:
    """With what is wrong."""
    with pytest.raises(TryFailed, match=told):
        read(chunk, encoding=encoding)
