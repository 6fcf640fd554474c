"""Keeps commands for GitHub Actions out of the error that pytest prints last of all."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import pytest


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> Generator[None, Any, Any]:
    """Remove commands from a usage error as well: pytest prints it when all else is over."""
    try:
        return (yield)
    except pytest.UsageError as error:
        if config.pluginmanager.has_plugin("browsereval-session"):
            from pytest_browsereval.features.github.hooks import without_commands
            from pytest_browsereval.features.github.plugin import in_job

            if in_job():
                error.args = tuple(without_commands(str(arg)) for arg in error.args)
        raise
