"""Properties of attempts in JUnit XML."""

from __future__ import annotations

import pytest

from pytest_browsereval.hooks.names import is_worker


def pytest_browsereval_start(config: pytest.Config) -> None:
    """Add to the file of ``--junitxml`` where one is asked for."""
    if is_worker(config) or not config.getoption("xmlpath", None):
        return
    from pytest_browsereval.features.junit.hooks import JUnit
    from pytest_browsereval.hooks.controller import controller_key

    junit = JUnit(config, config.stash[controller_key])
    config.pluginmanager.register(junit, "browsereval-junit")
