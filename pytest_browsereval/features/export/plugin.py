"""``browsereval export``, and the config key ``export``: finished runs in the forms of other tools."""

from __future__ import annotations

import pytest

from pytest_browsereval.hooks.names import is_worker


def pytest_browsereval_start(config: pytest.Config) -> None:
    """Export the session's runs once they are over."""
    if is_worker(config):
        return
    from pytest_browsereval.features.export.hooks import SessionExports
    from pytest_browsereval.hooks.controller import controller_key

    exports = SessionExports(config.stash[controller_key])
    config.pluginmanager.register(exports, "browsereval-exports")
