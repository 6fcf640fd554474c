"""``guards: [origins, confirm]``: what is asked before a tool call, and how many calls were refused."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pytest

from pytest_browsereval.hooks.names import is_worker

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_browsereval.analysis.summary import RunSummary
    from pytest_browsereval.config.guard import GuardedCall


def pytest_browsereval_start(config: pytest.Config) -> None:
    """Refuse what cannot be guarded, and count what was refused."""
    if is_worker(config):
        return
    from pytest_browsereval.features.guards.part import GuardsPart
    from pytest_browsereval.hooks.controller import controller_key

    config.stash[controller_key].parts["guards"] = GuardsPart()


@pytest.hookimpl(trylast=True)  # a coroutine is an answer: nobody is asked after it
def pytest_browsereval_tool_call(call: GuardedCall) -> Awaitable[str | None] | None:
    """Ask the guards of the config; None if it has none."""
    if not call.guards:
        return None
    from pytest_browsereval.features.guards.asking import ask_guards

    return ask_guards(call)


def pytest_browsereval_sum_up(run_folder: Path, summary: RunSummary) -> Mapping[str, Any]:
    """Return how many calls were refused."""
    from pytest_browsereval.features.guards.part import sum_up_stored

    return sum_up_stored(run_folder, summary)[0]


def pytest_browsereval_describe_run(run_folder: Path, summary: RunSummary) -> Sequence[str]:
    """Return the line that says it."""
    from pytest_browsereval.features.guards.part import sum_up_stored

    return sum_up_stored(run_folder, summary)[1]
