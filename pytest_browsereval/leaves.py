"""Folders that can be left out: each published benchmark and each feature. Whoever is there is asked."""

from __future__ import annotations

import pkgutil
from collections.abc import Iterator
from importlib import import_module
from types import ModuleType


def load_leaves(package: ModuleType, module: str) -> Iterator[tuple[str, ModuleType]]:
    """Yield the name of each folder of a package with its module of that name, in alphabetical order.

    Files beside the folders are what several of them share.
    """
    for name in sorted(found.name for found in pkgutil.iter_modules(package.__path__) if found.ispkg):
        yield name, import_module(f"{package.__name__}.{name}.{module}")
