"""Runs compared with earlier ones: ``--eval-baseline``, rules of a gate, and commands."""

from __future__ import annotations

import pytest

from pytest_browsereval.hooks.names import is_worker


def pytest_browsereval_start(config: pytest.Config) -> None:
    """Decide rules that compare; show the comparison if the option is given."""
    if is_worker(config):
        return
    from pytest_browsereval.features.compare.hooks import Baselines, Comparing
    from pytest_browsereval.hooks.controller import controller_key

    controller = config.stash[controller_key]
    controller.parts["compare"] = Baselines()
    if config.getoption("eval_baseline") is not None:
        config.pluginmanager.register(Comparing(controller), "browsereval-comparing")
