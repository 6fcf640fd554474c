"""Keys of later versions: refused with what works today, never ignored."""

from __future__ import annotations

from pytest_browsereval.config.draft import Draft
from pytest_browsereval.unsupported import KEYS


def take_refused(draft: Draft) -> None:
    """Remove keys of later versions from a draft; those that ask for something are wrong."""
    for path, works in KEYS.items():
        block = draft.get(path[:-1])
        if isinstance(block, dict) and not _asks_for_nothing(block.pop(path[-1], None)):
            draft.wrong(path, f"not supported yet. What works today: {works}.")


def _asks_for_nothing(value: object) -> bool:
    return value is None or value is False or value == "off" or value in ({}, [])
