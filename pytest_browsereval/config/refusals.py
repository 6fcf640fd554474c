"""Keys of later versions: refused with what works today, never ignored."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pytest_browsereval.unsupported import KEYS
from pytest_browsereval.validation_errors import Problem, find_key


def take_refused(config: dict[str, Any]) -> list[Problem]:
    """Remove keys of later versions from a config and return a problem for each that asks for something."""
    problems = []
    for path, works in KEYS.items():
        block, written = _parent(config, path)
        key = find_key(block, path[-1])
        if key is None or not isinstance(block, dict):
            continue
        value = block.pop(key)
        if not _asks_for_nothing(value):
            problems.append(Problem((*written, key), f"not supported yet. What works today: {works}."))
    return problems


def _asks_for_nothing(value: object) -> bool:
    return value is None or value is False or value == "off" or value in ({}, [])


def _parent(config: Mapping[str, Any], path: tuple[str, ...]) -> tuple[Any, tuple[str | int, ...]]:
    block: Any = config
    written: tuple[str | int, ...] = ()
    for name in path[:-1]:
        key = find_key(block, name)
        if key is None:
            return None, written
        block, written = block[key], (*written, key)
    return block, written
