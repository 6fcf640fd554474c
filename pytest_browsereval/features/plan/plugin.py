"""``--eval-plan``: print what a run will take, and run nothing."""

from __future__ import annotations

import pytest

from pytest_browsereval.features.plan.early import processes_key
from pytest_browsereval.hooks.names import is_planned_key, is_worker


def pytest_browsereval_start(config: pytest.Config) -> None:
    """Print the plan in the place of the run."""
    if not config.stash.get(is_planned_key, False) or is_worker(config):
        return
    from pytest_browsereval.features.plan.planning import Planning
    from pytest_browsereval.hooks.session import eval_session_key

    planning = Planning(config.stash[eval_session_key], config.stash[processes_key])
    config.pluginmanager.register(planning, "browsereval-planning")
