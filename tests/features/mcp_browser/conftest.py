"""Fixtures of the tests of browsers behind MCP servers."""

from __future__ import annotations

from tests.support import patience

__all__ = ["patience"]
