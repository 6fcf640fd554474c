"""Runs at a URL: ``browsereval push`` and ``browsereval pull``, and URLs where other commands take a run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_browsereval.commands.base import Command


def pytest_browsereval_commands() -> Sequence[Command]:
    """Return the subcommands."""
    from pytest_browsereval.features.remote.command import COMMANDS

    return COMMANDS


def pytest_browsereval_fetch_run(url: str) -> Sequence[Path]:
    """Return copies of the parts of a run, made once."""
    from pytest_browsereval.features.remote.pull import fetch

    return fetch(url)
