"""``--eval-llm``: records model calls, or answers from recorded ones."""

from __future__ import annotations

from functools import cached_property

from pytest_browsereval.features.replay.calls import CallInterceptor
from pytest_browsereval.features.replay.cassettes import ModelCalls, asks_no_model
from pytest_browsereval.hooks.session import EvalSession
from pytest_browsereval.llm.client import set_interceptor


class ReplayHooks:
    """Records or replays the model calls of this process until pytest ends.

    Args:
        session: whose attempts they are of.
        mode: what becomes of the calls.
    """

    def __init__(self, session: EvalSession, mode: ModelCalls) -> None:
        self._session = session
        self._mode = mode
        self._before = set_interceptor(CallInterceptor(lambda: self._asks_nobody))

    @cached_property
    def _asks_nobody(self) -> bool:
        if self._mode is ModelCalls.AUTO:
            return all(asks_no_model(run, self._mode) for run in self._session.runs.values())
        return self._mode is ModelCalls.REPLAY

    def pytest_unconfigure(self) -> None:
        """Give the models back to whoever runs pytest in this process."""
        set_interceptor(self._before)
