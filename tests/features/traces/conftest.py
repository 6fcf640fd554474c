"""Fixtures of the tests that need a browser."""

from __future__ import annotations

from tests.browsers.conftest import chromium
from tests.support import patience

__all__ = ["chromium", "patience"]
