"""Find the data of installed packages without importing them."""

from __future__ import annotations

import importlib.util
from pathlib import Path

INSTALLED = Path(":installed")
"""The path of a dataset that is read from an installed package."""


def folder_of(package: str) -> Path | None:
    """Return the folder of an installed package; None if it is not installed.

    Args:
        package: a top-level package; for any other, ``find_spec`` would import its parents.
    """
    try:
        spec = importlib.util.find_spec(package)
    except ValueError:  # a half-imported module of this name has no spec
        return None
    folders = spec.submodule_search_locations if spec is not None else None
    return Path(next(iter(folders))) if folders else None
