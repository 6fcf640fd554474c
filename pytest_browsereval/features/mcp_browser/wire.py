"""One session with an MCP server, by the SDK's client.

The SDK hides the status and the body of a refusal, and ties a connection to the task that opened it. Here
refusals are kept for messages, and a task of its own holds the connection, so that any task may call and
close.
"""

from __future__ import annotations

import asyncio
import json
import tempfile
from contextvars import Context
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any

from pytest_browsereval.browsers.base import ForeignTool
from pytest_browsereval.browsers.playwright.origins import shorten
from pytest_browsereval.errors import BrowserEvalError
from pytest_browsereval.features.mcp_browser.server import (
    TOO_LARGE,
    Watch,
    connect_http,
    read_last_words,
    start_server,
)
from pytest_browsereval.redaction.known import beginning

if TYPE_CHECKING:
    from mcp import Client

    from pytest_browsereval.features.mcp_browser.config import McpBrowserConfig

CLOSE_S = 10.0
"""How long a connection may take to close before it is given up."""

_LONGEST_TEXT = 300
_READ_LENGTH = 200_000
_CONNECTION_CLOSED = -32000
_CLOSED = "closed the connection"


class ServerGone(BrowserEvalError):
    """The connection is lost or was never there; no call can succeed any more."""


class CallRefused(BrowserEvalError):
    """The server answered, but with an error of the protocol, or with too much."""


@dataclass(frozen=True)
class Answer:
    """What a tool answered."""

    is_error: bool
    texts: tuple[str, ...] = ()
    pictures: tuple[str, ...] = ()
    """Base64, as they came."""

    @property
    def text(self) -> str:
        """Its texts, as far as they are looked at."""
        return beginning("\n".join(self.texts), _READ_LENGTH)


class McpSession:
    """One session with a server.

    Args:
        config: where the server is, or what it is started with.
    """

    def __init__(self, config: McpBrowserConfig) -> None:
        self._config = config
        self._watch = Watch()
        self._client: Client | None = None
        self._errors: IO[bytes] | None = None
        """Standard error of a server of ours; a pipe that nobody reads would stop it once it is full."""
        self._last_words = ""
        self._owner: asyncio.Task[None] | None = None
        self._ending = asyncio.Event()
        self._one_at_a_time = asyncio.Lock()
        self.gone: str | None = None
        """Why no call can succeed any more."""

    @property
    def server(self) -> str:
        """Name and version of the server, as it says itself."""
        info = self._client.server_info if self._client else None
        return f"{info.title or info.name} {info.version}" if info else "an unnamed server"

    # -- opening and closing

    async def open(self, limit_s: float) -> None:
        """Connect.

        Raises:
            ServerGone: it cannot be reached, refuses, or speaks another protocol.
        """
        ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        ready.add_done_callback(lambda done: done.cancelled() or done.exception())  # nobody may wait any more
        self._owner = asyncio.create_task(self._own(ready), context=Context())
        try:
            async with asyncio.timeout(limit_s):
                await asyncio.shield(ready)
        except TimeoutError:
            await self.close()
            raise ServerGone(self._describe_loss(f"did not answer within {limit_s:g} s")) from None
        except BaseException:
            await asyncio.shield(self.close())
            raise

    async def _own(self, ready: asyncio.Future[None]) -> None:
        """Hold the connection from its beginning to its end: the SDK wants both in one task."""
        from mcp import Client

        with tempfile.TemporaryFile() as errors:
            if self._config.command:
                self._errors = errors
                transport = start_server(self._config, errors, self._lose)
            else:
                transport = connect_http(self._config, self._watch)
            try:
                # Without its cache: a server that changes its tools has to be noticed.
                async with Client(transport, cache=None) as client:
                    self._client = client
                    ready.set_result(None)
                    await self._ending.wait()
            except asyncio.CancelledError:
                raise
            except BaseException as error:  # noqa: BLE001 a group of all that broke in the SDK
                self._lose(_sentence(error))
            finally:
                if not ready.done():
                    ready.set_exception(self._lose())
                elif not self._ending.is_set():
                    self._lose()
                self._last_words, self._errors = self._read_last_words(), None

    async def close(self) -> None:
        """Close the connection and end a server of our own; never raises, twice is harmless."""
        self._ending.set()
        owner, self._owner = self._owner, None
        if owner is not None:
            if self._client is None:  # it is still being connected to, which may take for ever
                owner.cancel()
            _, late = await asyncio.wait((owner,), timeout=CLOSE_S)
            if late:
                owner.cancel()
                await asyncio.wait((owner,), timeout=CLOSE_S)

    # -- asking

    async def tools(self, limit_s: float) -> tuple[ForeignTool, ...]:
        """Return all tools, page by page.

        Raises:
            ServerGone: the connection is lost.
            CallRefused: it lists none.
            TimeoutError: it took too long.
        """
        found: list[ForeignTool] = []
        cursor: str | None = ""
        async with asyncio.timeout(limit_s), self._one_at_a_time:
            while cursor is not None:
                page = await self._ask(self._connection().list_tools(cursor=cursor or None))
                found += [
                    ForeignTool(one.name, one.description or "", one.input_schema) for one in page.tools
                ]
                cursor = page.next_cursor or None
        return tuple(found)

    async def call(self, name: str, arguments: dict[str, Any], limit_s: float) -> Answer:
        """Call a tool.

        Raises:
            ServerGone: the connection is lost.
            CallRefused: an error of the protocol, or too large an answer.
            TimeoutError: it took too long; the session goes on.
        """
        async with asyncio.timeout(limit_s), self._one_at_a_time:
            result = await self._ask(self._connection().call_tool(name, arguments))
        blocks = [*result.content]
        pictures = [block.data for block in blocks if block.type == "image"]
        texts = [block.text for block in blocks if block.type == "text"]
        inner = [block.resource for block in blocks if block.type == "resource"]
        texts += [text for one in inner if (text := getattr(one, "text", None))]
        # Newer servers answer with an object alone.
        if not texts and result.structured_content is not None:
            texts.append(json.dumps(result.structured_content, ensure_ascii=False))
        return Answer(bool(result.is_error), tuple(texts), tuple(pictures))

    async def check(self, limit_s: float) -> None:
        """Find out whether the server still answers, after it was late; one that does not is given up.

        Raises:
            ServerGone: it has not listed its tools in time, or the connection is lost.
        """
        try:
            async with asyncio.timeout(limit_s), self._one_at_a_time:
                await self._ask(self._connection().list_tools())  # newer protocols have no ping
        except CallRefused:
            return  # that is an answer too
        except TimeoutError:
            raise self._lose(f"hangs: it has not listed its tools within {limit_s:g} s") from None

    def _connection(self) -> Client:
        if self.gone or self._client is None or self._owner is None:
            raise self._lose("was closed")
        return self._client

    async def _ask(self, asking: Any) -> Any:
        """Await a request, and tell a lost connection from an answer that is an error."""
        import anyio
        from mcp import MCPError

        self._watch.refusal, self._watch.is_too_large = None, False
        try:
            return await asking
        except MCPError as error:
            if self._watch.is_too_large:
                raise CallRefused(TOO_LARGE) from None
            if self._watch.refusal or error.code == _CONNECTION_CLOSED:
                raise self._lose(_sentence(error)) from None
            raise CallRefused(error.message) from None
        except (anyio.ClosedResourceError, anyio.BrokenResourceError):
            raise self._lose() from None
        except (RuntimeError, ValueError) as error:  # not as the protocol or the tool's own schema has it
            raise CallRefused(f"its answer is not a result: {_sentence(error)}") from None

    def _lose(self, why: str = _CLOSED) -> ServerGone:
        """Give the connection up; the first reason stays."""
        self.gone = self.gone or self._describe_loss(why)
        return ServerGone(self.gone)

    def _describe_loss(self, what: str) -> str:
        """Return a sentence about the server, with what it said last over HTTP or to standard error."""
        parts = f"the MCP server {self._config.label()} {what}."
        if self._watch.refusal:
            parts += f" It answered {self._watch.refusal}."
        return parts + self._read_last_words()

    def _read_last_words(self) -> str:
        return read_last_words(self._errors) if self._errors else self._last_words


def _sentence(error: BaseException) -> str:
    """Return what went wrong, the innermost cause of a group of them."""
    import httpx2

    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if getattr(error, "code", None) == _CONNECTION_CLOSED:
        return _CLOSED
    kind, text = type(error).__name__, shorten(str(getattr(error, "message", "") or error), _LONGEST_TEXT)
    if isinstance(error, OSError | httpx2.TransportError):
        return f"cannot be reached: {text or kind}"
    return f"failed: {text}" if kind == "MCPError" else f"failed: {kind}: {text}"
