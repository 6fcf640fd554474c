"""Fixtures of the tests that need a browser."""

from __future__ import annotations

from tests.support import browser, pages, run, visit

__all__ = ["browser", "pages", "run", "visit"]
