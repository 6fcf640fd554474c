"""``__all__`` says what the lazy packages offer."""

from __future__ import annotations

import ast
import importlib
from pathlib import Path

ALIASES = ("BOTH_SPELLINGS", "Message", "PictureFormat")
"""What is neither a class nor a function."""


def test_a_lazy_package_offers_its_public_names() -> None:
    """Its public names are sorted, each is there, and type checkers see the same ones."""
    for package in ("pytest_browsereval", "pytest_browsereval.testing"):
        lazy = importlib.import_module(package)
        source = Path(str(lazy.__file__)).read_text(encoding="utf-8")
        block = next(node for node in ast.parse(source).body if isinstance(node, ast.If))
        typed = [a.asname for node in block.body if isinstance(node, ast.ImportFrom) for a in node.names]
        listed = lazy.__all__
        assert listed == sorted(listed)
        assert sorted(name or "" for name in typed) == listed
        assert [n for n in listed if n not in ALIASES and getattr(lazy, n).__name__ != n] == []
