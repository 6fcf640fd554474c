"""The runs and the reader of the viewer's tests."""

from __future__ import annotations

from tests.features.shared.viewer.conftest import look, page, recorded, store

__all__ = ["look", "page", "recorded", "store"]
