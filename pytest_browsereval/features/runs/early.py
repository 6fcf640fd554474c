"""Keeps pytest from looking for tests in run folders."""

from __future__ import annotations

from pathlib import Path


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Look for no tests in run folders: none of the user's are there, and each attempt has six folders."""
    return all((collection_path / name).is_file() for name in ("manifest.json", "selected.jsonl")) or None
