"""The runs and the reader of the viewer's tests."""

from __future__ import annotations

from tests.report.viewer.conftest import browser, look, page, recorded, run, store

__all__ = ["browser", "look", "page", "recorded", "run", "store"]
