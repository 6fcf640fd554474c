"""Fixtures of the tests that need a browser, or look at a run's page."""

from __future__ import annotations

from tests.report.viewer.conftest import look
from tests.support import browser, pages, patience, run, visit

__all__ = ["browser", "look", "pages", "patience", "run", "visit"]
