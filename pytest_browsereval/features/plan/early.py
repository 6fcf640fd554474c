"""Has ``--eval-plan`` and ``--eval-plan-json`` act before pytest-xdist starts workers."""

from __future__ import annotations

import os

import pytest

from pytest_browsereval.feature import Option
from pytest_browsereval.hooks.names import is_planned_key

OPTIONS = (
    Option(
        "--eval-plan",
        action="store_true",
        default=False,
        help="run nothing; print the number of trials and an estimate of their tokens, cost and time",
        wakes=True,
    ),
    Option(
        "--eval-plan-json",
        action="store_true",
        default=False,
        help="run nothing; print the plan as one line of JSON and nothing else",
        wakes=True,
    ),
)

processes_key = pytest.StashKey[int]()
"""How many processes the run would have."""


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> None:
    """Have this process count the rows: pytest-xdist starts no worker then."""
    if config.getoption("eval_plan_json"):
        # Programs read the line: no header, no notes and no count of tests around it.
        config.option.verbose, config.option.disable_warnings = -2, True
    if config.getoption("eval_plan") or config.getoption("eval_plan_json"):
        config.stash[is_planned_key] = True
        config.stash[processes_key] = _count_processes(config)
        config.option.numprocesses, config.option.tx, config.option.dist = None, [], "no"


def _count_processes(config: pytest.Config) -> int:
    given = config.getoption("numprocesses", None)
    return given if isinstance(given, int) and given else (os.cpu_count() or 1) if given else 1
