"""The fixtures of the tests of configs."""

from __future__ import annotations

import pytest
from jsonschema import Draft202012Validator

from tests.config.conftest import load, refused, registry

__all__ = ["load", "refused", "registry"]


@pytest.fixture
def editor() -> Draft202012Validator:
    """The schema for editors is that of our own configs."""
    return Draft202012Validator({})
