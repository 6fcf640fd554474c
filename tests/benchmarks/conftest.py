"""Benchmarks' graders are tested as our own are."""

from __future__ import annotations

from tests.graders.fixtures import browser, live, patience, runner, serve, site

__all__ = ["browser", "live", "patience", "runner", "serve", "site"]
