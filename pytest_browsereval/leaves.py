"""Folders that can be left out: each published benchmark and each feature. Whoever is there is asked."""

from __future__ import annotations

import pkgutil
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from types import ModuleType


def load_leaves(package: ModuleType, module: str) -> Iterator[tuple[str, ModuleType]]:
    """Yield the name of each folder of a package with its module of that name, in alphabetical order.

    Files beside the folders are what several of them share.
    """
    for name in _list_folders(*package.__path__):
        yield name, import_module(f"{package.__name__}.{name}.{module}")


@cache
def _list_folders(*places: str) -> tuple[str, ...]:
    """Return the packages in these folders; each session asks three times."""
    return tuple(sorted(found.name for found in pkgutil.iter_modules(places) if found.ispkg))
