"""Our own browsers pass the suite that is shipped for others."""

from __future__ import annotations

import pytest

from pytest_browsereval.browsers.playwright.browser import PlaywrightBrowserConfig
from pytest_browsereval.testing import BrowserConformance


class TestPlaywright(BrowserConformance):
    @pytest.fixture
    def config(self) -> PlaywrightBrowserConfig:
        return PlaywrightBrowserConfig()
