"""What the tests of starters share."""

from __future__ import annotations

from functools import cache

import pytest

from pytest_browsereval.features.init import starter

_make_schema = cache(starter._make_schema)


@pytest.fixture(autouse=True)
def _make_schema_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """It takes a second, and is the same for all."""
    monkeypatch.setattr(starter, "_make_schema", _make_schema)
