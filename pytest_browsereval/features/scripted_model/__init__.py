"""A model server for tests that answers from a script; ``testing`` shows its public names."""

from __future__ import annotations

from pytest_browsereval.feature import Feature

FEATURE = Feature()
