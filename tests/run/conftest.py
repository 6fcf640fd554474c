"""Fixtures of the tests of runs."""

from __future__ import annotations

from tests.hooks.conftest import evals

__all__ = ["evals"]
