"""Tests of graders have a real browser and a real web server."""

from __future__ import annotations

from tests.graders.fixtures import live, patience, serve, site

__all__ = ["live", "patience", "serve", "site"]
