"""``__all__`` says what a package offers."""

from __future__ import annotations

import ast
import importlib
import pkgutil
import types
from pathlib import Path

import pytest

import pytest_browsereval

PACKAGES = [
    module.name
    for module in pkgutil.walk_packages(pytest_browsereval.__path__, "pytest_browsereval.")
    if module.ispkg
]


ALIASES = ("Message", "PictureFormat")
"""Names of types that are no classes."""
LAZY = ["pytest_browsereval", "pytest_browsereval.testing"]
"""Packages that import a public name when it is first asked for."""


@pytest.mark.parametrize("package", LAZY)
def test_a_lazy_package_offers_its_public_names(package: str) -> None:
    """Its public names are sorted, each is there, and type checkers see the same ones."""
    lazy = importlib.import_module(package)
    source = Path(str(lazy.__file__)).read_text(encoding="utf-8")
    block = next(node for node in ast.parse(source).body if isinstance(node, ast.If))
    typed = [a.asname for node in block.body if isinstance(node, ast.ImportFrom) for a in node.names]
    listed = lazy.__all__
    assert listed == sorted(listed)
    assert sorted(name or "" for name in typed) == listed
    assert [n for n in listed if n not in ALIASES and getattr(lazy, n).__name__ != n] == []


@pytest.mark.parametrize("name", [name for name in PACKAGES if name not in LAZY])
def test_all_is_what_is_public(name: str) -> None:
    """``__all__`` lists the public names of a package, sorted, and nothing that is not there."""
    package = importlib.import_module(name)
    public = sorted(
        key
        for key, value in vars(package).items()
        if not key.startswith("_") and key != "annotations" and not isinstance(value, types.ModuleType)
    )
    listed = list(getattr(package, "__all__", []))
    assert listed == sorted(listed)
    assert [key for key in listed if not key.startswith("_")] == public
    assert all(hasattr(package, key) for key in listed)
