"""Fixtures of the tests of agents that point at pictures."""

from __future__ import annotations

from tests.agents.conftest import desk, make_desk

__all__ = ["desk", "make_desk"]
