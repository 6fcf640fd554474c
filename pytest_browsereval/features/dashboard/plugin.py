"""``--eval-dashboard``: a page of the running run."""

from __future__ import annotations

import pytest

from pytest_browsereval.hooks.names import is_controlled_key, is_worker, runs_nothing


def pytest_browsereval_start(config: pytest.Config) -> None:
    """Serve the page if the option is given."""
    port: int | None = config.getoption("eval_dashboard")
    if port is None:
        return
    config.stash[is_controlled_key] = True  # in workers too: their attempts obey the page's controls
    if is_worker(config) or runs_nothing(config):
        return
    from pytest_browsereval.features.dashboard.hooks import LiveView
    from pytest_browsereval.hooks.controller import controller_key

    view = LiveView(config.stash[controller_key], port)
    config.pluginmanager.register(view, "browsereval-dashboard")
