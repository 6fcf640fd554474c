"""One request over HTTP, by the ``openai`` package: a body comes back, or :class:`TryFailed`."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from importlib import import_module
from typing import TYPE_CHECKING, Any

from pytest_browsereval.addresses import find_certificates
from pytest_browsereval.llm.api import Body, open_api
from pytest_browsereval.llm.config import LLMConfig
from pytest_browsereval.llm.retries import TryFailed, read_failure
from pytest_browsereval.llm.stream import is_stream
from pytest_browsereval.redaction.known import beginning

if TYPE_CHECKING:
    from openai import AsyncOpenAI

MAX_REPLY_BYTES = 16 * 1024 * 1024
"""Of a reply, unpacked; what models write takes a hundredth of it."""

MAX_STREAM_BYTES = 64 * 1024 * 1024
"""Of a streamed reply, in which each word has its own envelope."""

_NEVER_SENT = "no-key"
"""Stands for the key of a server that wants none: the header is left out."""


class Wire:
    """The connections to one model's server; opened at the first request."""

    def __init__(self, config: LLMConfig) -> None:
        self._config = config
        self._sdk: AsyncOpenAI | None = None
        self._opening = asyncio.Lock()
        self._headers: dict[str, Any] = {}
        self._api = open_api(config)

    async def send(self, request: Body) -> Any:
        """Send one request, once, and return the reply's JSON; both as chat completions have them.

        Raises:
            TryFailed: there is no reply that is JSON.
            ConfigError: there is no key.
        """
        sdk = await self._open()
        import openai  # loaded by _open

        sent = self._api.write(request)
        try:
            # As plain requests are: nothing is done with a piece of a reply, and so all are read in one way.
            text = await sdk.post(self._api.path, cast_to=str, body=sent, options={"headers": self._headers})
        except openai.APIStatusError as error:
            failure = read_failure(
                error.response.text, error.message, status=error.status_code, headers=error.response.headers
            )
            if self._api.adapt(failure, sent):
                return await self.send(request)
            raise failure from None
        except openai.APITimeoutError:
            limit_s = self._config.request_timeout_s
            raise TryFailed(f"no reply within {limit_s:g} s", is_unanswered=True) from None
        except openai.APIConnectionError as error:
            if isinstance(error.__cause__, TryFailed):  # of our own hook
                raise error.__cause__ from None
            failure = TryFailed(f"the connection failed: {error.__cause__ or error}", is_unanswered=True)
            # By its name: httpx or httpx2, whichever the `openai` package brings.
            failure.may_be_billed = type(error.__cause__).__name__ != "ConnectError"
            raise failure from None
        try:
            text = text.lstrip("\ufeff")
            return self._api.read_stream(text) if is_stream(text) else self._api.read(json.loads(text))
        except (ValueError, RecursionError):
            raise TryFailed(f"the reply is not JSON: {beginning(text, 100)!r}") from None

    async def _open(self) -> AsyncOpenAI:
        async with self._opening:
            if self._sdk is None:
                key = self._config.resolve_key()
                # Half a second, in which the other lanes go on.
                await asyncio.to_thread(import_module, "openai")
                self._sdk = self._make_sdk(key)
            return self._sdk

    def _make_sdk(self, key: str | None) -> AsyncOpenAI:
        import openai  # loaded by _open

        self._headers = {"Authorization": openai.Omit(), **self._api.headers(key)}
        sdk = openai.AsyncOpenAI(
            # Without a value it would read OPENAI_API_KEY and send it to this server, which may be anyone's.
            api_key=key or _NEVER_SENT,
            base_url=self._config.url,
            timeout=self._config.request_timeout_s,
            # Retries are ours: they have one deadline, and are counted.
            max_retries=0,
            http_client=openai.DefaultAsyncHttpxClient(
                verify=find_certificates(self._config.url),
                # A proxy of the environment cannot reach this machine's own ports.
                trust_env=not self._config.is_local,
                event_hooks={"response": [refuse_other_hosts, bound_reply]},
            ),
        )
        if self._config.provider != "openai":
            # It reads them from the environment, and they are nobody else's business.
            sdk.organization = sdk.project = None
        return sdk

    async def close(self) -> None:
        """Close the connections; a later request opens new ones."""
        sdk, self._sdk = self._sdk, None
        if sdk is not None:
            await sdk.close()


async def refuse_other_hosts(response: Any) -> None:
    """Refuse a reply that leads to another host; a hook of the HTTP client, called before it follows.

    Args:
        response: of httpx or httpx2, whichever the ``openai`` package brings.

    Raises:
        TryFailed: it does; nothing was sent there.
    """
    if not response.has_redirect_location:
        return
    here = response.request.url
    there = here.join(response.headers["location"])
    is_same = (there.scheme, there.host, there.port) == (here.scheme, here.host, here.port)
    is_upgrade = (here.scheme, there.scheme) == ("http", "https") and here.host == there.host
    # An address without a port says None.
    if is_same or (is_upgrade and (here.port, there.port) == (None, None)):
        return
    # Without user and password, which stand before the @.
    host = there.netloc.decode(errors="replace").rpartition("@")[2]
    raise TryFailed(
        f"it redirects to {there.scheme}://{host}, which is another host: nothing was sent there. If that is "
        "intended, write its address as `base_url`",
        status=response.status_code,
    )


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
