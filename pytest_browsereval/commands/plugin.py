"""The subcommands that every run needs, contributed as those of features are."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_browsereval.commands import (
    browser,
    comparing,
    flaking,
    listing,
    merging,
    showing,
    toolkits,
    viewing,
)
from pytest_browsereval.commands.base import Command


def pytest_browsereval_commands() -> Sequence[Command]:
    """Return the subcommands."""
    modules = (browser, comparing, flaking, listing, merging, showing, toolkits, viewing)
    return [command for module in modules for command in module.COMMANDS]
