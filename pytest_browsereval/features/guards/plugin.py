"""``guards: [origins, confirm]``: what is asked before a tool call, and how many calls were refused."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pytest_browsereval.config.guard import GuardedCall
    from pytest_browsereval.run.active import ActiveRun
    from pytest_browsereval.runs.run import StoredRun


def pytest_browsereval_check_run(active_run: ActiveRun) -> None:
    """Refuse what cannot be guarded."""
    if active_run.config.guards:
        from pytest_browsereval.features.guards.asking import check_agents

        check_agents(active_run.config)


@pytest.hookimpl(trylast=True)  # a coroutine is an answer: nobody is asked after it
def pytest_browsereval_tool_call(call: GuardedCall) -> Awaitable[str | None] | None:
    """Ask the guards of the config; None if it has none."""
    if not call.guards:
        return None
    from pytest_browsereval.features.guards.asking import ask_guards

    return ask_guards(call)


def pytest_browsereval_sum_up(run: StoredRun) -> Mapping[str, Any]:
    """Return how many calls were refused."""
    from pytest_browsereval.features.guards.asking import sum_up_refusals

    return sum_up_refusals(run)[0]


def pytest_browsereval_describe_run(run: StoredRun) -> Sequence[str]:
    """Return the line that says it."""
    from pytest_browsereval.features.guards.asking import sum_up_refusals

    return sum_up_refusals(run)[1]
