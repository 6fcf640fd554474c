"""Windows of Chromium by Playwright."""
