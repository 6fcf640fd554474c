"""The address of a browser that listens for the DevTools protocol: checked, shown without secrets, asked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from pytest_browsereval.addresses import find_certificates, is_local
from pytest_browsereval.browsers.playwright.origins import shorten
from pytest_browsereval.errors import BrowserEvalError
from pytest_browsereval.redaction.marks import HIDDEN
from pytest_browsereval.redaction.names import SHORTEST_SECRET
from pytest_browsereval.redaction.redactor import Redactor

if TYPE_CHECKING:
    from httpx import Response

SCHEMES = ("http", "https", "ws", "wss")
HOW_TO_LISTEN = "chromium --remote-debugging-port=9222 --user-data-dir=FOLDER"
_LONG_SEGMENT = 16


class NoEndpoint(BrowserEvalError):
    """The address is not an endpoint of the DevTools protocol; the message continues a sentence about it."""


@dataclass(frozen=True)
class DevToolsUrl:
    """Where a browser listens: ``http://host:port``, or the address of its websocket."""

    text: str

    @classmethod
    def parse(cls, text: str) -> DevToolsUrl:
        """Check an address.

        Raises:
            ValueError: it is none.
        """
        try:
            parts = urlsplit(text)
            has_port = bool(parts.port) or parts.port is None
            is_address = parts.scheme in SCHEMES and bool(parts.hostname) and has_port
        except ValueError:  # half an IPv6 address, a port that is none
            is_address = False
        if not is_address:
            raise ValueError(
                f"{text!r} is not the address of a browser. Write one such as http://127.0.0.1:9222, or the "
                "ws:// address that the browser prints."
            )
        return cls(text)

    @property
    def _parts(self) -> SplitResult:
        return urlsplit(self.text)

    @property
    def is_local(self) -> bool:
        """Whether the browser runs on this machine."""
        return is_local(self.text)

    def __str__(self) -> str:
        """Return scheme, host and port: what else an address may have can be a secret."""
        return f"{self._parts.scheme}://{self._parts.netloc.rpartition('@')[2]}"

    def secrets(self) -> tuple[str, ...]:
        """Return the parts that let anybody in: user, password, values of the query, long segments."""
        parts = self._parts
        user, _, password = parts.netloc.rpartition("@")[0].partition(":")
        values = [value for _, value in parse_qsl(parts.query)]
        # The path of a DevTools websocket ends in an id that lets anybody in.
        segments = [segment for segment in parts.path.split("/") if len(segment) >= _LONG_SEGMENT]
        found = [user, password, unquote(user), unquote(password), *values, *segments]
        return tuple(secret for secret in dict.fromkeys(found) if len(secret) >= SHORTEST_SECRET)

    def plainly(self, text: str) -> str:
        """Return a message in which the address is shown without its secrets."""
        return Redactor(self.secrets(), HIDDEN).redact(text.replace(self.text, str(self)))

    async def ask(self, limit_s: float) -> None:
        """Find out whether a browser answers there; a websocket is only known by connecting to it.

        Raises:
            NoEndpoint: nothing does, or something else.
        """
        if self._parts.scheme in ("ws", "wss"):
            return
        answer = await self._version(limit_s)
        try:
            is_browser = answer.status_code == 200 and "webSocketDebuggerUrl" in answer.json()
        except (ValueError, TypeError):
            is_browser = False
        if not is_browser:
            said = f"HTTP {answer.status_code}, {shorten(answer.text, 200) or 'nothing'!r}"
            raise NoEndpoint(
                f"is not a DevTools endpoint: /json/version answered without webSocketDebuggerUrl: {said}"
            )

    async def _version(self, limit_s: float) -> Response:
        import httpx

        parts = self._parts
        url = parts._replace(path=f"{parts.path.rstrip('/')}/json/version/").geturl()
        uses_proxy = not self.is_local
        try:
            certificates = find_certificates(url)
            async with httpx.AsyncClient(
                verify=certificates, trust_env=uses_proxy, timeout=limit_s
            ) as client:
                return await client.get(url)
        except httpx.TimeoutException:
            raise NoEndpoint(f"did not answer within {limit_s:g} s") from None
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            why = f"{type(error).__name__}: {shorten(str(error), 120)}"
            raise NoEndpoint(f"cannot be reached: {why}") from None
