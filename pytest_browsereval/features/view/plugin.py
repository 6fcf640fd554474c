"""The page of each run, and ``browsereval view``, which writes it again or as one file to send."""

from __future__ import annotations

import pytest

from pytest_browsereval.hooks.names import is_worker


def pytest_browsereval_start(config: pytest.Config) -> None:
    """Write the page of each run once its summary is there."""
    if is_worker(config):
        return
    from pytest_browsereval.features.view.hooks import Viewing
    from pytest_browsereval.hooks.controller import controller_key

    viewing = Viewing(config.stash[controller_key])
    config.pluginmanager.register(viewing, "browsereval-viewing")
