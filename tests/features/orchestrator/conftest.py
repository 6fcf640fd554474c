"""Fixtures of the tests of agents that delegate."""

from __future__ import annotations

from tests.agents.conftest import desk, make_desk
from tests.support import browser, pages, run

__all__ = ["browser", "desk", "make_desk", "pages", "run"]
