"""``--eval-llm``: records model calls, or answers from recorded ones."""

from __future__ import annotations

from functools import cached_property

from pytest_browsereval.errors import ErrorSource, Fault
from pytest_browsereval.features.replay.calls import current_calls
from pytest_browsereval.features.replay.cassettes import ModelCalls, make_cassettes
from pytest_browsereval.hooks.session import EvalSession
from pytest_browsereval.llm.api import Body
from pytest_browsereval.llm.client import Send, set_interceptor
from pytest_browsereval.run.cassettes import name_cassette


class ReplayHooks:
    """Hands the model calls of this process to the recorders and replayers of attempts, until pytest ends.

    Args:
        session: whose attempts they are of.
        mode: what becomes of the calls.
    """

    def __init__(self, session: EvalSession, mode: ModelCalls) -> None:
        self._session = session
        self._mode = mode
        self._before = set_interceptor(self)

    @cached_property
    def is_offline(self) -> bool:
        """Whether nothing is ever sent, so that no key is needed."""
        if self._mode is not ModelCalls.AUTO:
            return self._mode is ModelCalls.REPLAY
        runs = [(run, make_cassettes(run, self._mode)) for run in self._session.runs.values()]
        entries = ((files, entry) for run, files in runs for entry in run.plan.entries())
        return all(files.replays(name_cassette(entry.key)) for files, entry in entries)

    async def exchange(self, role: str, request: Body, send: Send) -> tuple[Body, int]:
        """Return the reply to a request, and how many retries it took.

        Raises:
            Fault: there is none.
            LimitReached: the recorded attempt was out of time here.
        """
        calls = current_calls.get()
        if calls is not None:
            return await calls.exchange(role, request, send)
        if self.is_offline:
            raise Fault(
                ErrorSource.REPLAY,
                f"the {role} asked a model outside its attempt (perhaps in a thread), where "
                "nothing is recorded. Ask it in the attempt's own task.",
            )
        return await send(request)

    def pytest_unconfigure(self) -> None:
        """Give the models back to the caller of pytest in this process."""
        set_interceptor(self._before)
