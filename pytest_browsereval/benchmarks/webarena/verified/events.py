"""The requests of a recorded attempt, as its HAR file has them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from pytest_browsereval.features.shared.requests import SeenRequest, read_fields
from pytest_browsereval.graders.base import GraderFault
from pytest_browsereval.run_files import load_written

# Paths that end so are files of the page and never looked at.
_STATIC = (".css", ".js", ".png", ".jpg", ".jpeg", ".gif", ".svg", ".woff", ".woff2", ".ttf", ".ico", ".webp")


@dataclass(frozen=True)
class Event(SeenRequest):
    """One request with its response."""

    response: Mapping[str, Any] = field(default_factory=dict)
    """As the file has it."""

    @classmethod
    def read(cls, entry: Mapping[str, Any]) -> Event:
        """Return what an entry of the file is."""
        request, response = entry["request"], entry["response"]
        sent = request.get("postData") or {}
        return cls(
            method=str(request["method"]),
            url=str(request["url"]),
            status=int(response.get("status", 0)),
            headers={str(h["name"]).lower(): str(h["value"]) for h in request.get("headers", ())},
            kind=sent.get("mimeType", ""),
            body=sent.get("text", ""),
            response=response,
        )

    @property
    def is_navigation(self) -> bool:
        """Whether it asks for a page, and not for a part of one."""
        accept = self.headers.get("accept", "").lower()
        if self.method != "GET":
            return False
        # Only requests over HTTPS and to localhost carry these headers.
        if "sec-fetch-user" not in self.headers:
            return accept.startswith("text/html")
        wanted = {"sec-fetch-dest": "document", "sec-fetch-mode": "navigate", "sec-fetch-user": "?1"}
        is_asked = all(self.headers.get(name, "").lower() == value for name, value in wanted.items())
        return is_asked and "text/html" in accept

    @cached_property
    def replied(self) -> dict[str, Any] | None:
        """The JSON object that came."""
        content = self.response.get("content") or {}
        return read_fields(content.get("mimeType", ""), content.get("text", ""))

    @cached_property
    def cookies(self) -> dict[str, str]:
        """The cookies that the response set."""
        given = self.response.get("cookies", ())
        return {str(cookie["name"]): unquote(str(cookie.get("value", ""))) for cookie in given}


def read_events(file: Path) -> list[Event]:
    """Return what was requested, without the files of pages; blocks.

    Raises:
        Fault: source *grader*; nothing was recorded, or it cannot be read.
    """
    try:
        log = load_written(file)["log"]
        events = [Event.read(entry) for entry in log["entries"]]
        pages = [event for event in events if not urlsplit(event.url).path.endswith(_STATIC)]
        return [event for event in pages if event.url and event.method]
    except FileNotFoundError:
        raise GraderFault(f"the attempt has no {file.name}: the network traffic was not recorded") from None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise GraderFault(f"{file.name} cannot be read: {error!r:.200}") from None
