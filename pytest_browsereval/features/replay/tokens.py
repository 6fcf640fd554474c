"""Tokens and passwords taken out of a recording of pages, so that it can be kept and still be replayed."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from html import unescape
from typing import Any
from urllib.parse import unquote

from pytest_browsereval.redaction.logins import JWT, SHORTEST_TOKEN, is_login
from pytest_browsereval.redaction.marks import TOKEN_MARK, mark_token
from pytest_browsereval.redaction.names import is_secret_name
from pytest_browsereval.redaction.spellings import list_spellings
from pytest_browsereval.redaction.text import redact_json

_PARAMETER = re.compile(r"(?<=[?&#;])([^=&#;?\s\"'<>]+)=([^&#;\s\"'<>]+)")
_FIELD = re.compile(r'"([^"\\]+)"(\s*:\s*)"((?:[^"\\]|\\.)+)"')
_PART = re.compile(r'(name="([^"]+)"\r\n\r\n)(.*?)(?=\r\n--)', re.DOTALL)
_TAG = re.compile(r"<(?:meta|input)\b[^>]*>", re.IGNORECASE)
_ATTRIBUTE = re.compile(r"([\w-]+)\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s>\"']+))")


Change = Callable[[str, str], str]
"""Takes a name and its value as it is written, returns what is written instead."""


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


def remove_tokens(recording: dict[str, Any]) -> dict[str, Any]:
    """Return a recording without what logs someone in.

    A token is known by its name (of a field of JSON or of a form, of a parameter of an address, of a ``meta``
    or ``input`` tag) or by its form, and is hidden wherever it stands, by a mark of its own: pages that send
    on what a reply has are answered all the same. What is too short for that, a password say, is hidden where
    its name is.

    Args:
        recording: with all bodies in it.
    """
    entries = recording["log"]["entries"]
    found = dict.fromkeys(token for entry in entries for token in _tokens(entry))
    found |= dict.fromkeys(JWT.findall(json.dumps(entries)))
    marks = {text: mark_token(n) for n, token in enumerate(found, 1) for text in list_spellings([token])}
    safe = recording
    if marks:
        wanted = re.compile("|".join(map(re.escape, sorted(marks, key=len, reverse=True))))
        safe = redact_json(recording, lambda text: wanted.sub(lambda match: marks[match[0]], text))
    short: dict[str, str] = {}

    def hide(name: str, value: str) -> str:
        if not value or TOKEN_MARK.match(value) or not is_login(name, value):
            return value
        return short.setdefault(value, mark_token(len(found) + len(short) + 1))

    for entry in safe["log"]["entries"]:
        _change_named(entry, hide)
    return safe


def _change_named(entry: dict[str, Any], change: Change) -> None:
    """Change what follows a name in the addresses, the headers and the sent body of an entry."""
    request, response = entry["request"], entry["response"]
    request["url"] = change_address(request.get("url", ""), change)
    if "redirectURL" in response:
        response["redirectURL"] = change_address(response["redirectURL"], change)
    for side in (request, response):
        for header in side.get("headers", ()):
            header["value"] = change_address(header["value"], change)
    sent = request.get("postData") or {}
    if "text" in sent:
        sent["text"] = change_body(sent["text"], sent.get("mimeType", ""), change)
    for pair in (*request.get("queryString", ()), *sent.get("params", ())):
        pair["value"] = change(pair["name"], pair.get("value", ""))


def _tokens(entry: dict[str, Any]) -> Iterator[str]:
    """Yield what logs someone in and is long enough to be found wherever it stands."""
    named: list[tuple[str, str]] = []

    def note(name: str, value: str) -> str:
        named.append((name, value))
        return value

    _change_named(entry, note)
    for body in (entry["request"].get("postData") or {}, entry["response"].get("content") or {}):
        text, kind = body.get("text", ""), body.get("mimeType", "")
        if body.get("encoding") == "base64":
            continue
        yield from _tokens_of_json(text)
        change_body(text, kind, note)
        if "html" in kind:
            change_address(text, note)
            named += _tags(text)
    for name, value in named:
        if len(value) >= SHORTEST_TOKEN and is_secret_name(name, "field"):
            yield _plain(value)


def _find_named_tokens(value: Any, name: str = "") -> Iterator[str]:
    """Yield what JSON says that logs someone in, and is long enough to be hidden wherever it stands."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _find_named_tokens(inner, key)
    elif isinstance(value, list):
        for inner in value:
            yield from _find_named_tokens(inner, name)
    elif isinstance(value, str) and len(value) >= SHORTEST_TOKEN and is_secret_name(name, "field"):
        yield value


def _tokens_of_json(text: str) -> Iterator[str]:
    """Yield the same of a text that is JSON; nothing if it is not."""
    try:
        yield from _find_named_tokens(json.loads(text))
    except (ValueError, RecursionError):
        return


def _plain(value: str) -> str:
    """Return a value of JSON or of an address as it is meant; of a form's it is found by its spellings."""
    try:
        return str(json.loads(f'"{value}"')) if "\\" in value else unquote(value)
    except ValueError:
        return value


def _tags(text: str) -> Iterator[tuple[str, str]]:
    """Yield names and values of a page's ``meta`` and ``input`` tags."""
    for tag in _TAG.findall(text):
        given = {name.lower(): unescape(a or b or c) for name, a, b, c in _ATTRIBUTE.findall(tag)}
        yield given.get("name") or given.get("id", ""), given.get("value") or given.get("content", "")
