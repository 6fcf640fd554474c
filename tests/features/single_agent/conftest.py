"""The desks of agents."""

from __future__ import annotations

from tests.agents.conftest import desk, make_desk

__all__ = ["desk", "make_desk"]
