"""Fixtures of the tests that need a browser."""

from __future__ import annotations

from tests.support import patience

__all__ = ["patience"]
