"""Asks a dashboard over real connections: requests as they stand, and news as they come."""

from __future__ import annotations

import http.client
import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

LIMIT_S = 120.0
"""A machine under load; nothing here takes that long by itself."""


class Plain(http.client.HTTPConnection):
    def _encode_request(self, request: str) -> bytes:
        return request.encode()


@dataclass(frozen=True)
class News:
    """A server-sent event."""

    name: str
    kind: str
    data: Any


@dataclass(frozen=True)
class Asker:
    """Somebody who has the address of a dashboard."""

    host: str
    token: str

    @classmethod
    def of(cls, url: str) -> Asker:
        parts = urlsplit(url)
        return cls(parts.netloc, parts.path.strip("/"))

    def ask(
        self, path: str, body: str | None = None, *, token: str | None = None, **headers: str
    ) -> tuple[int, bytes, dict[str, str]]:
        """Send a request as it stands; nothing is tidied on the way."""
        connection = Plain(self.host, timeout=LIMIT_S)
        given = {
            "Host": self.host,
            **{name.replace("_", "-"): value for name, value in headers.items() if value},
        }
        target = f"/{self.token if token is None else token}/{path}"
        connection.request("GET" if body is None else "POST", target, body, given)
        response = connection.getresponse()
        found = (
            response.status,
            response.read(),
            {name.lower(): value for name, value in response.getheaders()},
        )
        connection.close()
        return found

    def want(self, what: str, *, run: int = 0, **more: Any) -> int:
        """Want something of a run, as the page does; returns the status."""
        own = {"Content_Type": "application/json", "Origin": f"http://{self.host}"}
        return self.ask(f"{run}/control", json.dumps({"want": what, **more}), **own)[0]

    def data(self, run: int = 0) -> dict[str, Any]:
        """Return the data of a new page."""
        status, body, _ = self.ask(f"{run}/")
        assert status == 200, body
        match = re.search(r'id="data">(.*?)</script>', body.decode(), re.DOTALL)
        assert match is not None
        loaded: dict[str, Any] = json.loads(match[1])
        return loaded

    @contextmanager
    def listening(self, last: str, run: int = 0, *, by_header: bool = False) -> Iterator[Iterator[News]]:
        """Listen to the news after an event, as a page does at first, or when it was cut off."""
        connection = http.client.HTTPConnection(self.host, timeout=LIMIT_S)
        path = f"/{self.token}/{run}/events" + ("?after=of-an-old-page" if by_header else f"?after={last}")
        connection.request("GET", path, headers={"Last-Event-ID": last} if by_header else {})
        response = connection.getresponse()
        assert response.status == 200
        try:
            yield _news(response)
        finally:
            response.close()
            connection.close()


def _news(response: http.client.HTTPResponse) -> Iterator[News]:
    found: dict[str, str] = {}
    for raw in response:
        line = raw.decode().rstrip("\n")
        if line:
            name, _, value = line.partition(": ")
            found[name] = value
        elif "event" in found:
            yield News(found.get("id", ""), found["event"], json.loads(found["data"]))
            found = {}


def until(news: Iterator[News], holds: Callable[[News], object]) -> list[News]:
    """Return the news up to one of which something holds."""
    seen = []
    for one in news:
        seen.append(one)
        if holds(one):
            return seen
    raise AssertionError(f"it never came; what came: {[(one.kind, one.data) for one in seen][-5:]}")
