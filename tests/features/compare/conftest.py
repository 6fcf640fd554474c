"""The runs and the reader of the viewer's tests."""

from __future__ import annotations

from tests.features.shared.viewer.conftest import compared, look, store, two_runs

__all__ = ["compared", "look", "store", "two_runs"]
