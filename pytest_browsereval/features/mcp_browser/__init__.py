"""The ``mcp`` browser: one behind a server of the Model Context Protocol, driven by its own tools."""

from __future__ import annotations

from pytest_browsereval.feature import Feature

FEATURE = Feature(members={"browser": {"mcp": "config:McpBrowserConfig"}})
