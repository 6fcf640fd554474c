from __future__ import annotations

import asyncio

from pytest_browsereval.agents.noop import NoopConfig
from pytest_browsereval.errors import TerminationReason
from tests.agents.desk import Desk


def test_nothing_is_done(desk: Desk) -> None:
    """No tool is called, and there is no answer."""
    result = asyncio.run(NoopConfig().build(desk.context(NoopConfig())).execute())
    assert (result.final_answer, result.termination_reason) == (None, TerminationReason.COMPLETED)
    assert desk.called == []
