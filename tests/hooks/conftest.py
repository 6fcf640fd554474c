"""Fixtures of the whole-program tests."""

from __future__ import annotations

import pytest

from tests.hooks.small_evals import Evals


@pytest.fixture
def evals(pytester: pytest.Pytester) -> Evals:
    """Return a folder to write evals into and to run them in."""
    made = Evals(pytester.path)
    made.pytester = pytester
    return made
