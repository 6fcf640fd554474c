"""Keys of later versions: refused with what works today, never ignored."""

from __future__ import annotations

from typing import Any

from pytest_browsereval.config.draft import Draft
from pytest_browsereval.unsupported import KEYS


def take_refused(draft: Draft) -> None:
    """Remove keys of later versions from a draft; those that ask for something are wrong."""
    for path, works in KEYS.items():
        block: Any = draft.tree
        for name in path[:-1]:
            block = block.get(name) if isinstance(block, dict) else None
        if not isinstance(block, dict) or path[-1] not in block:
            continue
        if not _asks_for_nothing(block.pop(path[-1])):
            draft.wrong(path, f"not supported yet. What works today: {works}.")


def _asks_for_nothing(value: object) -> bool:
    return value is None or value is False or value == "off" or value in ({}, [])
