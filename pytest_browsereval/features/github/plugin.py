"""GitHub Actions: a summary, annotations, and no commands from what pages and agents say."""

from __future__ import annotations

import os
from collections.abc import Generator
from typing import Any

import pytest

from pytest_browsereval.hooks.names import is_worker

# GitHub names the file of a step's summary in this variable.
SUMMARY = "GITHUB_STEP_SUMMARY"


def in_job() -> bool:
    """Whether this process runs in a job of GitHub Actions, which reads commands in its output."""
    return os.environ.get("GITHUB_ACTIONS") == "true"


def pytest_browsereval_start(config: pytest.Config) -> None:
    """Stop the job's commands in the output from now on, and report the run to it at its end.

    A list of items (``--collect-only``) is left alone: it has no text of pages, and programs read it.
    """
    takes_commands = in_job() and not config.option.collectonly
    if is_worker(config) or not (takes_commands or os.environ.get(SUMMARY)):
        return
    from pytest_browsereval.features.github.hooks import Commands, GitHub
    from pytest_browsereval.hooks.controller import controller_key
    from pytest_browsereval.hooks.gating import gating_key

    commands = Commands(config) if takes_commands else None
    if commands is not None:
        commands.start()
    github = GitHub(config.stash[controller_key], config.stash[gating_key], commands)
    config.pluginmanager.register(github, "browsereval-github")


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> Generator[None, Any, Any]:
    """Remove commands from a usage error as well: pytest prints it when all else is over."""
    try:
        return (yield)
    except pytest.UsageError as error:
        if in_job() and config.pluginmanager.has_plugin("browsereval-session"):
            from pytest_browsereval.features.github.hooks import without_commands

            error.args = tuple(without_commands(str(arg)) for arg in error.args)
        raise
