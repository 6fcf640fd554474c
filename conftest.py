"""Settings that depend on what is installed, so that the quickstart runs without the test extras."""

from __future__ import annotations

import os

import pytest

TEST_TIMEOUT_S = 300
PROCESSES = 3


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> None:
    """Run the whole suite, and nothing less, in three processes: most tests wait for programs they start."""
    is_whole = config.args_source is pytest.Config.ArgsSource.TESTPATHS and not config.option.eval_config
    if is_whole and not hasattr(config, "workerinput") and config.option.numprocesses is None:
        config.option.numprocesses = PROCESSES
        config.option.dist = "worksteal"


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Give every test a time limit where pytest-timeout is there, and its children bytecode."""
    # Tests start hundreds of Python processes; without bytecode each compiles all it imports (0.6 s).
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    if config.pluginmanager.has_plugin("timeout") and config.getoption("timeout") is None:
        config.option.timeout = TEST_TIMEOUT_S
