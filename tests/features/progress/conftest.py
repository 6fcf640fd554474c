"""Fixtures of the tests that need a browser, or look at a run's page."""

from __future__ import annotations

from tests.features.shared.viewer.conftest import look
from tests.support import patience

__all__ = ["look", "patience"]
