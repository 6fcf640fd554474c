"""The file of ``storage_state``: cookies and web storage that log a window in."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from pytest_browsereval.redaction.logins import is_login
from pytest_browsereval.redaction.names import SHORTEST_SECRET, is_password_name

_SHORTEST_KEY = 12
"""Characters of what is taken for a key by its form."""
_FEWEST_SWITCHES = 4
"""From letters to digits and back; a time such as ``2026-03-01T09:00:00Z`` has three."""
_SWITCH = re.compile(r"[A-Za-z](?=\d)|\d(?=[A-Za-z])")
_LONG_RUN = re.compile(r"(?=[A-Za-z]*\d)(?=\d*[A-Za-z])[A-Za-z0-9]{16,}|\d{16,}")


class _Stored(BaseModel):
    """What Playwright asks of an entry."""

    model_config = ConfigDict(strict=True, defer_build=True)

    name: str
    value: str


class _Origin(BaseModel):
    model_config = ConfigDict(strict=True, defer_build=True)

    origin: str
    local_storage: list[_Stored] = Field(default=[], alias="localStorage")


class _State(BaseModel):
    model_config = ConfigDict(strict=True, defer_build=True)

    cookies: list[_Stored] = []
    origins: list[_Origin] = []


def read_state(path: Path) -> dict[str, Any]:
    """Return what the file holds, as JSON.

    Raises:
        OSError: it cannot be read.
        ValueError: it is not a stored state; the message has no value of it.
    """
    state = json.loads(path.read_text(encoding="utf-8"))
    try:
        _State.model_validate(state)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"])) or "the file"
        raise ValueError(f"{where}: {first['msg']}") from None
    return dict(state)


def list_stored_secrets(state: dict[str, Any]) -> Iterator[str]:
    """Yield what logs in with a stored state: tokens by their names, and what looks like a key."""
    for cookie in state.get("cookies", ()):
        yield from _find(cookie["value"], cookie["name"])
    for origin in state.get("origins", ()):
        yield from _find({name: value for name, value in origin.items() if name != "origin"})


def _find(value: Any, name: str = "") -> Iterator[str]:
    if isinstance(value, dict):
        named = value.get("name")
        for key, inner in value.items():
            yield from _find(inner, named if key == "value" and isinstance(named, str) else key)
    elif isinstance(value, list):
        for inner in value:
            yield from _find(inner, name)
    elif isinstance(value, str):
        yield from _find_in_text(value, name)


def _find_in_text(text: str, name: str) -> Iterator[str]:
    plain = unquote(text)
    if plain.lstrip().startswith(("{", "[", '"')):
        try:
            yield from _find(json.loads(plain), name)
        except (ValueError, RecursionError):
            pass
        else:
            return
    for word in [plain] if is_password_name(name) else plain.split():
        if len(word) >= SHORTEST_SECRET and (_looks_random(word) or _is_token(name, word)):
            yield from {word, text if word == plain else word}


def _is_token(name: str, word: str) -> bool:
    """Tell whether a value is one by its name, and no ordinary word: ``not-logged-in``."""
    return is_login(name, word) and (is_password_name(name) or not re.fullmatch(r"[a-z]+([-_][a-z]+)*", word))


def _looks_random(word: str) -> bool:
    """Tell whether a value mixes letters and digits as keys do, and names no place or person."""
    if len(word) < _SHORTEST_KEY or "@" in word or "://" in word:
        return False
    return bool(_LONG_RUN.search(word)) or len(_SWITCH.findall(word)) >= _FEWEST_SWITCHES
