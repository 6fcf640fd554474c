"""A server that answers requests: asked again where that may help, and what it means if it does not."""

from __future__ import annotations

import asyncio
import itertools
import math
import time
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import TypeVar

from pytest_browsereval.errors import ErrorSource, Fault, Outage, StopRun, TerminationReason
from pytest_browsereval.llm.retries import RetryPolicy, TryFailed
from pytest_browsereval.model.limits import current_limits
from pytest_browsereval.redaction.known import beginning
from pytest_browsereval.redaction.redactor import Redactor

LONGEST_MESSAGE = 500
"""Characters of a server's message that are passed on."""

ReplyT = TypeVar("ReplyT")


@dataclass
class Server:
    """A model's server, or another service of the kind."""

    kind: str
    """``model`` or ``service``, for messages."""
    name: str
    """What messages call it; holds no secret."""
    key_name: str
    """What messages call its key; empty if none is sent."""
    secrets: Callable[[], Iterable[str]]
    """Returns what must not stand in messages."""
    answered_at: float | None = None
    """When it answered the last time, in seconds since 1970."""
    has_replied: bool = False
    """Whether it took the key once."""

    async def ask(
        self, policy: RetryPolicy, limit_s: float, attempt: Callable[[], Awaitable[ReplyT]]
    ) -> tuple[ReplyT, int]:
        """Return a reply and how many retries it took.

        Args:
            policy: how requests are tried again.
            limit_s: the most that one request may take.
            attempt: sends one request; raises ``TryFailed``.

        Raises:
            Fault: source *provider*; there is no usable reply in time.
            StopRun: the key is refused, or the account is empty.
        """
        deadline, failures, latest = policy.clock() + policy.deadline_s, 0, None
        limits = current_limits.get()
        for tries in itertools.count(1):
            began = time.monotonic()
            try:
                try:
                    return await self._try(min(limit_s, deadline - policy.clock()), attempt), tries - 1
                except TryFailed as failure:
                    latest, wait_s, began = failure, policy.delay(tries, failure), math.inf
                    if limits is not None and self.kind == "model":
                        limits.outermost.unseen += failure.may_be_billed
                    is_late = policy.clock() + wait_s >= deadline
                    failures += policy.counts(failure)
                    if failures == policy.max_tries or is_late or not failure.is_worth_a_retry:
                        raise self.fault(failure, tries, wait_s if is_late else None) from None
                    await policy.sleep(wait_s)
            except asyncio.CancelledError as cancelled:
                waited_s = time.monotonic() - began
                if limits is not None and waited_s >= limits.outermost.time_s / 2:
                    latest = TryFailed(f"no reply within {waited_s:.1f} s")
                if latest is not None and (fault := self._blame(latest, tries, is_waiting=waited_s > 0)):
                    raise fault from cancelled
                raise
        raise AssertionError("an endless count ended")

    def _blame(self, failure: TryFailed, tries: int, *, is_waiting: bool) -> Fault | None:
        """Return why the agent is out of time: requests failed, or one has no reply; None if that is not why.

        Args:
            failure: of the last request.
            tries: how many requests there were.
            is_waiting: whether the last one has no reply yet.
        """
        limits = current_limits.get()
        reached = limits.find() if limits is not None else None
        if limits is not None and reached is not None and reached.reason == TerminationReason.TIMEOUT:
            fault = self.fault(failure, tries, over=str(reached))
            limits.outermost.unseen += is_waiting and self.kind == "model"
            # An agent may swallow it, and that of a part is lost where the whole is cancelled.
            (limits.outermost if limits.outermost.find() else limits).why_late = fault
            return fault
        return None

    async def _try(self, limit_s: float, attempt: Callable[[], Awaitable[ReplyT]]) -> ReplyT:
        try:
            async with asyncio.timeout(limit_s):
                reply = await attempt()
        except TimeoutError:
            raise TryFailed(f"no reply within {limit_s:g} s", is_unanswered=True) from None
        except TryFailed as failure:
            # A key that was good is good: it is this request that is refused.
            failure.is_about_content |= self.has_replied
            # A refusal is an answer too: the server is there.
            if not failure.is_outage:
                self.answered_at = time.time()
            raise
        self.answered_at, self.has_replied = time.time(), True
        return reply

    def fault(self, failure: TryFailed, tries: int = 1, wait_s: float | None = None, over: str = "") -> Fault:
        """Return what a failure means for the attempt.

        Args:
            failure: of the last request.
            tries: how many requests there were.
            wait_s: how long to wait for the next one, where that would be too late.
            over: which limit came before the next reply.
        """
        what = f"answered {failure.status}" if failure.status else "gave no usable reply"
        after = f" after {tries} tries" if tries > 1 else ""
        # Redacted before it is cut: a key that is cut in two would not be found.
        said = beginning(Redactor(self.secrets()).redact(str(failure)), LONGEST_MESSAGE)
        text = f"{self.name} {what}{after}: {said}"
        if failure.ends_the_run:
            check = f"Check {self.key_name} and the account behind it."
            no_key = "No key was sent. If the server needs one, write `api_key: NAME_OF_VARIABLE`."
            return StopRun(ErrorSource.PROVIDER, f"{text}. {check if self.key_name else no_key}")
        if wait_s is not None and failure.is_worth_a_retry:
            text += f" (the next try in {wait_s:.0f} s would pass retry_deadline_s)"
        if over:
            text += f" (the time was over before a reply came: {over})"
        if failure.is_outage:
            return Outage(
                ErrorSource.PROVIDER,
                text,
                what=f"the {self.kind} {self.name}",
                answered_at=self.answered_at,
                status=failure.status,
            )
        return Fault(ErrorSource.PROVIDER, text, status=failure.status)
