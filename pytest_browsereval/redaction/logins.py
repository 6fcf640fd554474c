"""What logs somebody in, in addresses and in what is sent: hidden in recordings, found again in replays."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from pytest_browsereval.redaction.marks import REMOVED, TOKEN_MARK
from pytest_browsereval.redaction.names import is_password_name, is_secret_name

if TYPE_CHECKING:
    from playwright.async_api import Route

SHORTEST_TOKEN = 12
"""Characters: what is shorter is a kind of token, say, and stands in many places."""

JWT = re.compile(r"(?<![\w-])eyJ[\w-]*\.[\w-]+(?:\.[\w-]*)+")
"""A signed token: known by its form, whatever it is called."""

_PARAMETER = re.compile(r"(?<=[?&#;])([^=&#;?\s\"'<>]+)=([^&#;\s\"'<>]+)")
_FIELD = re.compile(r'"([^"\\]+)"(\s*:\s*)"((?:[^"\\]|\\.)+)"')
_PART = re.compile(r'(name="([^"]+)"\r\n\r\n)(.*?)(?=\r\n--)', re.DOTALL)
_BOUNDARY = re.compile(r"boundary=\"?([^\";]+)")
_COOKIE_HEADERS = ("cookie", "set-cookie", "set-cookie2")

Change = Callable[[str, str], str]
"""Takes a name and its value as it is written, returns what is written instead."""


def is_login(name: str, value: str) -> bool:
    """Return whether a named value is hidden: passwords of any length, tokens that are no kinds of token."""
    return is_password_name(name) or (len(value) >= SHORTEST_TOKEN and is_secret_name(name, "field"))


def change_address(text: str, change: Change) -> str:
    """Return an address, or a text with some in it, with its parameters changed."""
    return _PARAMETER.sub(lambda match: f"{match[1]}={change(match[1], match[2])}", text)


def change_body(text: str, kind: str, change: Change) -> str:
    """Return what was sent with its fields changed.

    Args:
        text: JSON or a form; of anything else nothing is known.
        kind: its media type.
        change: is asked for each field.
    """
    if "x-www-form-urlencoded" in kind:
        return change_address("&" + text, change)[1:]
    if "multipart/form-data" in kind:
        return _PART.sub(lambda match: match[1] + change(match[2], match[3]), text)
    if "json" in kind or text.lstrip().startswith(("{", "[")):  # ``fetch`` calls its JSON plain text
        return _FIELD.sub(lambda match: f'"{match[1]}"{match[2]}"{change(match[1], match[3])}"', text)
    return text


def _shape(text: str, kind: str | None = None) -> str:
    """Return an address or a body with one mark for all that would be hidden in a recording."""

    def change(name: str, value: str) -> str:
        return "-removed-" if is_login(name, value) else value

    if kind and (boundary := _BOUNDARY.search(kind)):  # made up anew each time
        text = text.replace(boundary[1], "")
    plain = JWT.sub("-removed-", TOKEN_MARK.sub("-removed-", text))
    return change_address(plain, change) if kind is None else change_body(plain, kind, change)


def remove_logins(side: dict[str, Any], kept: frozenset[str] = frozenset()) -> None:
    """Take cookies and headers that log somebody in out of a request or a response, in place.

    Args:
        side: as a HAR file has it.
        kept: cookies that stay, by their names.
    """
    side["cookies"] = [cookie for cookie in side.get("cookies", ()) if cookie.get("name") in kept]
    for header in side.get("headers", ()):
        name = header["name"].lower()
        if name in _COOKIE_HEADERS:
            header["value"] = _kept(header["value"], kept, is_list=name == "cookie")
        elif is_secret_name(name, "field"):
            header["value"] = REMOVED


def _kept(text: str, kept: frozenset[str], *, is_list: bool) -> str:
    """Return a header's cookies, those that nobody looks at taken out."""
    parts = re.split(r";\s*", text) if is_list else text.split("\n")
    safe = [part if part.partition("=")[0].strip() in kept else REMOVED for part in parts]
    return ("; " if is_list else "\n").join(dict.fromkeys(safe))


class Fitting:
    """Finds the recorded request that one of a replay stands for, where a login was taken out of it.

    Args:
        entries: of the recording.
    """

    def __init__(self, entries: Iterable[dict[str, Any]]) -> None:
        self._known: set[tuple[str, str, str]] = set()
        self._shapes: dict[tuple[str, str, str], tuple[str, str]] = {}
        for entry in entries:
            request = entry["request"]
            url, sent = request["url"], request.get("postData") or {}
            body = sent.get("text", "")
            if TOKEN_MARK.search(url + body):
                self._known.add((request["method"], url, body))
                shape = (request["method"], _shape(url), _shape(body, sent.get("mimeType", "")))
                self._shapes.setdefault(shape, (url, body))

    def __bool__(self) -> bool:
        return bool(self._shapes)

    async def fit(self, route: Route) -> None:
        """Have a request looked up as it was recorded: with marks for what logs somebody in."""
        request = route.request
        url, body = request.url, (request.post_data_buffer or b"").decode(errors="replace")
        shape = None
        if (request.method, url, body) not in self._known:  # else a page has sent on what a reply has
            kind = request.headers.get("content-type", "")
            shape = self._shapes.get((request.method, _shape(url), _shape(body, kind)))
        if shape is None:
            await route.fallback()
        elif shape[1]:
            await route.fallback(url=shape[0], post_data=shape[1])
        else:
            await route.fallback(url=shape[0])
