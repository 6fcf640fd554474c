"""The requests of a recorded attempt, as its HAR file has them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from pytest_browsereval.graders.base import GraderFault
from pytest_browsereval.graders.values import is_deep, read_json
from pytest_browsereval.run_files import load_written

# Paths that end so are files of the page and never looked at.
_STATIC = (".css", ".js", ".png", ".jpg", ".jpeg", ".gif", ".svg", ".woff", ".woff2", ".ttf", ".ico", ".webp")


@dataclass(frozen=True)
class Event:
    """One request with its response."""

    entry: Mapping[str, Any]

    @property
    def url(self) -> str:
        """The address that was asked for."""
        return str(self.entry["request"]["url"])

    @property
    def method(self) -> str:
        """GET, POST, ..."""
        return str(self.entry["request"]["method"])

    @property
    def status(self) -> int:
        """The status of the response; 0 or less if there was none."""
        return int(self.entry["response"].get("status", 0))

    @cached_property
    def headers(self) -> dict[str, str]:
        """The request's headers by their names in lower case."""
        return {str(h["name"]).lower(): str(h["value"]) for h in self.entry["request"].get("headers", ())}

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
    def sent(self) -> dict[str, Any] | None:
        """The fields of a form or of a JSON object that were sent."""
        return _fields(self.entry["request"].get("postData"))

    @cached_property
    def replied(self) -> dict[str, Any] | None:
        """The JSON object that came."""
        return _fields(self.entry["response"].get("content"))

    @cached_property
    def cookies(self) -> dict[str, str]:
        """The cookies that the response set."""
        given = self.entry["response"].get("cookies", ())
        return {str(cookie["name"]): unquote(str(cookie.get("value", ""))) for cookie in given}


def read_events(file: Path) -> list[Event]:
    """Return what was requested, without the files of pages; blocks.

    Raises:
        Fault: source *grader*; nothing was recorded, or it cannot be read.
    """
    try:
        log = load_written(file)["log"]
        events = [Event(entry) for entry in log["entries"]]
        pages = [event for event in events if not urlsplit(event.url).path.endswith(_STATIC)]
        return [event for event in pages if event.url and event.method]
    except FileNotFoundError:
        raise GraderFault(f"the attempt has no {file.name}: the network traffic was not recorded") from None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise GraderFault(f"{file.name} cannot be read: {error!r:.200}") from None


def _fields(content: Any) -> dict[str, Any] | None:
    kind, text = (content or {}).get("mimeType", ""), (content or {}).get("text", "")
    if not text:
        return None
    if "application/x-www-form-urlencoded" in kind:
        return {name: values[0] for name, values in parse_qs(text, keep_blank_values=True).items()}
    if "application/json" in kind:
        value = read_json(text)
        return value if isinstance(value, dict) and not is_deep(value) else None
    boundary = re.search(r"boundary=([^;\s]+)", kind) if "multipart/form-data" in kind else None
    return _parts(text, boundary[1]) if boundary else None


def _parts(text: str, boundary: str) -> dict[str, str]:
    fields: dict[str, str] = {}
    for part in text.replace("\r\n", "\n").split(f"--{boundary}"):
        head, blank, body = part.strip().partition("\n\n")
        name = re.search(r'^content-disposition:.*?\bname="([^"]+)"', head, re.IGNORECASE | re.MULTILINE)
        if blank and name:
            fields[name[1]] = body.rstrip("\n")
    return fields
