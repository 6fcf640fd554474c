"""Settings that depend on what is installed, so that the quickstart runs without the test extras."""

from __future__ import annotations

import pytest

TEST_TIMEOUT_S = 300


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Give every test a time limit where pytest-timeout is there."""
    if config.pluginmanager.has_plugin("timeout") and config.getoption("timeout") is None:
        config.option.timeout = TEST_TIMEOUT_S
