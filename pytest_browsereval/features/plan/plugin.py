"""``--eval-plan``: print what a run will take, and run nothing."""

from __future__ import annotations

import os

import pytest

from pytest_browsereval.hooks.names import is_planned_key, is_worker

processes_key = pytest.StashKey[int]()
"""How many processes the run would have."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option."""
    parser.getgroup("browsereval").addoption(
        "--eval-plan",
        action="store_true",
        default=False,
        help="run nothing; print the number of trials and an estimate of their tokens, cost and time",
    )


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> None:
    """Have this process count the rows: pytest-xdist starts no worker then."""
    if config.getoption("eval_plan"):
        config.stash[is_planned_key] = True
        config.stash[processes_key] = _count_processes(config)
        config.option.numprocesses, config.option.tx, config.option.dist = None, [], "no"


def _count_processes(config: pytest.Config) -> int:
    given = config.getoption("numprocesses", None)
    return given if isinstance(given, int) and given else (os.cpu_count() or 1) if given else 1


def pytest_configure(config: pytest.Config) -> None:
    """Wake up if the option is given, also where no argument names an eval."""
    if config.getoption("eval_plan"):
        from pytest_browsereval.hooks.start import start

        start(config)


def pytest_browsereval_start(config: pytest.Config) -> None:
    """Print the plan in the place of the run."""
    if not config.getoption("eval_plan") or is_worker(config):
        return
    from pytest_browsereval.features.plan.hooks import Planning
    from pytest_browsereval.hooks.session import eval_session_key

    planning = Planning(config.stash[eval_session_key], config.stash[processes_key])
    config.pluginmanager.register(planning, "browsereval-planning")
