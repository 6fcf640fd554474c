"""The tool ``evaluate``: JavaScript in the page, off by default."""

from __future__ import annotations

from pytest_browsereval.feature import Feature

FEATURE = Feature(kits=("tools:KIT",))
