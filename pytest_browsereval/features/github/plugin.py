"""GitHub Actions: a summary, annotations, and no commands from what pages and agents say."""

from __future__ import annotations

import os

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

    commands = Commands(config) if takes_commands else None
    if commands is not None:
        commands.start()
    github = GitHub(config.stash[controller_key], commands)
    config.pluginmanager.register(github, "browsereval-github")
