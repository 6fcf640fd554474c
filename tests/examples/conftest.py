"""The fixture of the whole-program tests."""

from __future__ import annotations

from tests.hooks.conftest import evals

__all__ = ["evals"]
