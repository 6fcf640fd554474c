"""Read run configs and suites of BrowserOS."""

from __future__ import annotations

from pytest_browsereval.feature import Feature

FEATURE = Feature(readers=("reader:BrowserOSReader",))
