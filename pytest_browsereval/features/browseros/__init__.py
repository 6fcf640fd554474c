"""Read run configs and suites of BrowserOS."""
