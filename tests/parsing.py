"""Reads the source of the package."""

from __future__ import annotations

import ast
import gc
from pathlib import Path

import pytest_browsereval

PACKAGE = Path(pytest_browsereval.__file__).parent


def parse_package() -> dict[Path, ast.Module]:
    """Return the syntax trees of all modules, by their files.

    Collections of garbage would look at a million new objects, and take three times as long as parsing does.
    """
    files = sorted(PACKAGE.rglob("*.py"))
    gc.disable()
    try:
        return {file: ast.parse(file.read_text(encoding="utf-8")) for file in files}
    finally:
        gc.enable()
