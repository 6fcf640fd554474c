"""``--eval-llm``: records model calls, or answers from recorded ones."""

from __future__ import annotations

from functools import cached_property

from pytest_browsereval.hooks.session import EvalSession
from pytest_browsereval.llm.client import set_interceptor
from pytest_browsereval.replay.calls import CallInterceptor
from pytest_browsereval.replay.cassettes import ModelCalls


class ReplayHooks:
    """Records or replays the model calls of this process until pytest ends.

    Args:
        session: whose attempts they are of.
    """

    def __init__(self, session: EvalSession) -> None:
        self._session = session
        self._before = set_interceptor(CallInterceptor(lambda: self._asks_nobody))

    @cached_property
    def _asks_nobody(self) -> bool:
        if self._session.model_calls is ModelCalls.AUTO:
            return all(active_run.asks_no_model() for active_run in self._session.runs.values())
        return self._session.model_calls is ModelCalls.REPLAY

    def pytest_unconfigure(self) -> None:
        """Give the models back to whoever runs pytest in this process."""
        set_interceptor(self._before)
