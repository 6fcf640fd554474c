"""Refuse keys that the format has and this version does not support."""

from __future__ import annotations

from pytest_browsereval.config.draft import Draft
from pytest_browsereval.unsupported import KEYS


def take_refused(draft: Draft) -> None:
    """Remove unsupported keys from a draft; keys that ask for something are problems."""
    # An ignored key would be worse than an error: its user believes in a rule that nobody checks.
    for path, works in KEYS.items():
        block = draft.get(path[:-1])
        if isinstance(block, dict) and not _asks_for_nothing(block.pop(path[-1], None)):
            draft.report(path, f"not supported yet. What works today: {works}.")


def _asks_for_nothing(value: object) -> bool:
    return value is None or value is False or value == "off" or value in ({}, [])
