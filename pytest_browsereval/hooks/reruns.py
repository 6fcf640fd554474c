"""Rows and plug-ins that run failed tests again: keeps a judged row from running twice."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_browsereval.hooks.items import EvalItem

COUNTS = {"reruns": "--reruns", "retries": "--retries"}
"""Options of pytest-rerunfailures and pytest-retry that say how often a failed test is run again."""


class OneTry:
    """Leaves rows to pytest's own protocol, so that pytest-rerunfailures runs none of them again.

    ``retries`` of the config says how often an errored attempt is made anew.
    """

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> object:
        """Run a row once."""
        if not isinstance(item, EvalItem):
            return None
        runner: Any = item.config.pluginmanager.get_plugin("runner")
        return runner.pytest_runtest_protocol(item, nextitem)


def describe_reruns(config: pytest.Config) -> str:
    """Return what becomes of failed rows that a plug-in would run again; "" if none would."""
    given = {option: config.getoption(name, None) for name, option in COUNTS.items()}
    counts = {option: count for option, count in given.items() if isinstance(count, int) and count > 0}
    if config.getoption("eval_allow_reruns"):
        tries = f"best of {max(counts.values()) + 1}" if counts else "best of several tries"
        return f"failed rows may be rerun: results are the {tries}"
    return f"no row is rerun by {' and '.join(counts)} (--eval-allow-reruns allows it)" if counts else ""
