"""Asks a dashboard over real connections: requests as they stand, and for news again and again."""

from __future__ import annotations

import http.client
import json
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

PAUSE_S = 0.02
LIMIT_S = 120.0
"""A machine under load; nothing here takes that long by itself."""


class Plain(http.client.HTTPConnection):
    def _encode_request(self, request: str) -> bytes:
        return request.encode()


@dataclass(frozen=True)
class News:
    """Rows that have changed, or how something stands."""

    last: int
    """How many changes the page has seen with it."""
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
        own = {name.replace("_", "-"): value for name, value in headers.items() if value}
        target = f"/{self.token if token is None else token}/{path}"
        connection.request("GET" if body is None else "POST", target, body, {"Host": self.host, **own})
        response = connection.getresponse()
        content = response.read()
        connection.close()
        return response.status, content, {name.lower(): value for name, value in response.getheaders()}

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

    def listen(self, last: int | str, run: int = 0) -> Iterator[News]:
        """Ask for the news after a change until the run has ended, as a page does."""
        states: dict[str, Any] = {}
        asked = last
        while True:
            status, body, _ = self.ask(f"{run}/news?after={asked}")
            assert status == 200, body
            news = json.loads(body)
            asked = seen = int(news["last"])
            if news["rows"]:
                yield News(seen, "rows", news["rows"])
            changed = {name: one for name, one in news["states"].items() if states.get(name) != one}
            states |= changed
            yield from (News(seen, name, one) for name, one in changed.items())
            if states["end"]["exit_code"] is not None:
                return
            time.sleep(PAUSE_S)


def until(news: Iterator[News], holds: Callable[[News], object]) -> list[News]:
    """Return the news up to one of which something holds."""
    seen = []
    for one in news:
        seen.append(one)
        if holds(one):
            return seen
    raise AssertionError(f"it never came; what came: {[(one.kind, one.data) for one in seen][-5:]}")
