"""Fixtures of the tests of browsers that run already."""

from __future__ import annotations

from tests.browsers.conftest import chromium
from tests.support import patience

__all__ = ["chromium", "patience"]
