"""Reads data of installed packages without importing them."""

from __future__ import annotations

import importlib.util
from pathlib import Path

INSTALLED = Path(":installed")
"""The path of a dataset that is read from an installed package."""


def folder_of(package: str) -> Path | None:
    """Return where an installed package lies; None if it is not installed.

    Args:
        package: a top-level package: of others Python would import the parents.
    """
    try:
        spec = importlib.util.find_spec(package)
    except ValueError:  # something half imported has taken its name
        return None
    folders = spec.submodule_search_locations if spec is not None else None
    return Path(next(iter(folders))) if folders else None
