"""The runs and the reader of the viewer's tests."""

from __future__ import annotations

from tests.report.viewer.conftest import browser, compared, look, run, store, two_runs

__all__ = ["browser", "compared", "look", "run", "store", "two_runs"]
