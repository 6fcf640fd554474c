"""Columns, filters and pictures of attempts in pytest-html."""

from __future__ import annotations

import pytest

from pytest_browsereval.hooks.names import is_worker


def pytest_browsereval_start(config: pytest.Config) -> None:
    """Add to pytest-html's report where there is one."""
    if is_worker(config) or not config.pluginmanager.has_plugin("html"):
        return
    from pytest_browsereval.features.html.hooks import HtmlReport
    from pytest_browsereval.hooks.controller import controller_key

    report = HtmlReport(config.stash[controller_key])
    config.pluginmanager.register(report, "browsereval-html")
