"""The fixture of the whole-program tests."""

from tests.hooks.conftest import evals

__all__ = ["evals"]
