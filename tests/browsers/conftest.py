"""Fixtures of the tests that need a browser."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.browsers.listening import Listening, listening
from tests.support import patience

__all__ = ["chromium", "patience"]


@pytest.fixture(scope="module")
def chromium() -> Iterator[Listening]:
    """Return a Chromium that listens, with one tab, which has to outlive all tests of the module."""
    with listening() as running:
        yield running
        running.assert_left_alone()
