"""Options that have no effect without an eval, or would run judged rows again."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from pytest_browsereval.errors import UsageError
from pytest_browsereval.hooks.items import EvalItem
from pytest_browsereval.hooks.names import find_options_of_evals, is_by_hand


def check_options_of_evals(config: pytest.Config, items: Iterable[pytest.Item], *, has_evals: bool) -> None:
    """Refuse options about evals, such as the rate that they have to come to, where none was collected.

    Without evals they would be passed over, and tests that have nothing to do with them would be green.

    Args:
        config: pytest's.
        items: that are to run.
        has_evals: whether an eval was loaded, be all of its rows deselected.

    Raises:
        UsageError: there are other tests only, or hand-written tests, each of which decides for itself.
    """
    given = find_options_of_evals(config)
    items = list(items)
    if not items or not given or any(isinstance(item, EvalItem) for item in items):
        return
    if not any(map(is_by_hand, items)):
        args = getattr(config, "workerinput", {}).get("mainargv", config.invocation_params.args)
        options = (f"--eval-{name.replace('_', '-')}" for name in given)
        # In `addopts` it stands for all that is run: for other tests as well.
        option = next((one for one in options if any(arg.partition("=")[0] == one for arg in args)), None)
        if has_evals or option is None:
            return
        raise UsageError(
            f"{option} is about evals, but none was collected: pytest finds configs that are called "
            "*.eval.yaml, .yml, .json or .toml. Name another one with --eval-config=FILE."
        )
    if "min_pass_rate" in given:
        raise UsageError(
            "--eval-min-pass-rate is a gate for the rows of eval configs, but there are only hand-written "
            "tests here, and their assertions decide. Leave it out, or name a config with --eval-config=FILE."
        )


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
    # Of pytest-rerunfailures and pytest-retry.
    given = {name: config.getoption(name, None) for name in ("reruns", "retries")}
    counts = [f"--{name}" for name, count in given.items() if isinstance(count, int) and count > 0]
    return f"{' and '.join(counts)} reruns no row" if counts else ""
