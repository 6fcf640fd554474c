"""Benchmarks' graders are tested as our own are."""

from __future__ import annotations

from tests.graders.fixtures import live, patience, serve, site

__all__ = ["live", "patience", "serve", "site"]
