"""The JSONPath that rows use to name a value inside a request or reply."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from pytest_browsereval.benchmarks.webarena.verified.texts import is_pattern, matches
from pytest_browsereval.graders.patterns import check_pattern
from pytest_browsereval.graders.values import read_json

_STEP = re.compile(
    r"\.(?P<name>[\w-]+)|\[(?P<index>\d+)\]|\['(?P<quoted>[^']+)'\]|(?P<all>\[\*\]|\.\*)"
    r"|\[\?\(@\.(?P<key>[\w-]+)\s*==\s*(?P<value>-?\d+(?:\.\d+)?|'[^']*'|\"[^\"]*\"|true|false|null)\)\]"
)


def is_path(key: str) -> bool:
    """Return whether a key of a row names a value inside, or matches keys, and is not a plain key."""
    return key.startswith("$") or is_pattern(key)


def check_path(key: str) -> None:
    """Refuse a path that is not understood.

    Raises:
        ValueError: with the path and what is understood.
    """
    pattern = _key_pattern(key)
    if pattern is not None:
        check_pattern(pattern)
        return
    place = 1
    while place < len(key):
        found = _STEP.match(key, place)
        if found is None:
            raise ValueError(
                f"the path {key!r} is not understood from {key[place:]!r} on. Understood: $.name, ['name'], "
                "[0], [*] and [?(@.name == value)]."
            )
        place = found.end()


def _key_pattern(key: str) -> str | None:
    if key.startswith("$.^") and key.endswith("$"):
        return key[2:]
    return key if is_pattern(key) else None


def value_at(data: Mapping[str, Any], key: str) -> Any:
    """Return the value at a path, a list of several ones, None for none.

    Texts that are JSON are looked into where the path leads nowhere else.
    """
    pattern = _key_pattern(key)
    if pattern is not None:
        found = [value for name, value in data.items() if matches(pattern, name, whole=False)]
    else:
        steps = list(_STEP.finditer(key, 1))
        found = _walk([data], steps) or _walk([_open(data)], steps)
    if not found:
        return None
    return found[0] if len(found) == 1 and "?(" not in key else found


def _walk(values: list[Any], steps: list[re.Match[str]]) -> list[Any]:
    for step in steps:
        values = [inner for value in values for inner in _take(value, step)]
    return values


def _take(value: Any, step: re.Match[str]) -> list[Any]:
    name = step["name"] or step["quoted"]
    if name is not None:
        return [value[name]] if isinstance(value, Mapping) and name in value else []
    if step["index"] is not None:
        place = int(step["index"])
        return [value[place]] if isinstance(value, list) and place < len(value) else []
    items = value if isinstance(value, list) else list(value.values()) if isinstance(value, Mapping) else []
    if step["all"]:
        return list(items)
    text = step["value"]
    wanted = text[1:-1] if text[0] in "'\"" else json.loads(text)
    return [item for item in items if isinstance(item, Mapping) and item.get(step["key"]) == wanted]


def _open(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            key: read_json(part, part) if isinstance(part, str) else _open(part)
            for key, part in value.items()
        }
    return [_open(part) for part in value] if isinstance(value, list) else value
