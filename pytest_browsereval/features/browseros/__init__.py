"""BrowserOS: its run configs and suites, read as ours."""
