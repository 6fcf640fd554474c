"""What an attempt has changed in the state of its sites, as ``effects`` of rows are compared with it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pytest_browsereval.capture.trajectory import EFFECTS_FILE

Change = Mapping[str, Any]
"""``kind`` (``added``, ``changed``, ``removed``), ``table``, ``key``, ``before``, ``after``, ``columns``."""


def read_differences(attempt: Path) -> list[tuple[str, Change]]:
    """Return the changes of an attempt, each with its site.

    Args:
        attempt: its folder.

    Raises:
        OSError: they were not kept, or cannot be read.
        ValueError: the file is damaged.
    """
    stored = json.loads((attempt / EFFECTS_FILE).read_bytes())
    return [(site, one) for site, kept in stored["sites"].items() for one in kept["differences"]]


def read_key(change: Change) -> list[Any]:
    """Return the values by which a site tells the row of a change from others."""
    return [(change["after"] or change["before"]).get(column) for column in change["key"]]
