"""Traces for Playwright's viewer, and consoles of pages."""

from __future__ import annotations

from pytest_browsereval.feature import Feature

FEATURE = Feature(keys=(("capture", "trace"), ("capture", "console")), hooks="plugin")
