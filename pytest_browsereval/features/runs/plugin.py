"""``browsereval runs``: all runs over time; each session writes what its gates came to."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pytest_browsereval.hooks.names import is_worker

if TYPE_CHECKING:
    from pytest_browsereval.model.remote import RemoteRuns


def pytest_browsereval_start(config: pytest.Config) -> None:
    """Write what the gates of the session's runs came to once they are over."""
    if is_worker(config):
        return
    from pytest_browsereval.features.runs.hooks import GateKeeping
    from pytest_browsereval.hooks.controller import controller_key

    config.pluginmanager.register(GateKeeping(config.stash[controller_key]), "browsereval-gates")


def pytest_browsereval_choose_run(
    name: str, home: str, before: str | None, runs: RemoteRuns | None
) -> str | None:
    """Return the newest run of an eval, or the newest one of a branch."""
    from pytest_browsereval.features.runs.choice import choose_run

    return choose_run(name, home, before, runs)
