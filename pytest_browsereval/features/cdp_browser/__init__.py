"""The `cdp` browser: one that is already running, driven over the DevTools protocol."""

from __future__ import annotations

from pytest_browsereval.feature import Feature

FEATURE = Feature(members={"browser": {"cdp": "browser:CdpBrowserConfig"}})
