"""Tests of graders have a real browser and a real web server."""

from __future__ import annotations

from tests.graders.fixtures import browser, live, patience, runner, serve, site

__all__ = ["browser", "live", "patience", "runner", "serve", "site"]
