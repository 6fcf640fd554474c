"""The limits of an attempt: the first one that is reached ends it, also where an agent catches that."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any
from weakref import WeakKeyDictionary

from pytest_browsereval.errors import Fault, LimitReached, TerminationReason
from pytest_browsereval.model.usage import Usage

PAUSE_S = 0.1
"""How long a refusal takes: an agent that tries again in a loop would hold up all other attempts."""

IS_OVER = "it is over; nothing can be called any more"


class Limits:
    """Which limit has ended an attempt, or a part of it. The first one stays.

    Args:
        outer: of the attempt that this is a part of; they hold as well, and come first.
        max_tokens: that all model calls may use together.
        max_cost_usd: that they may cost.
    """

    def __init__(
        self, outer: Limits | None = None, *, max_tokens: int | None = None, max_cost_usd: float | None = None
    ) -> None:
        self._outer = outer
        self._max_tokens, self._max_cost_usd = max_tokens, max_cost_usd
        self.used = Usage()
        self.spent_usd = 0.0
        """What is known of its cost; the rest may be unknown."""
        self._until: tuple[float, LimitReached] | None = None
        self.reached: LimitReached | None = None
        """The limit of its own that was reached."""
        self._reached_at = 0.0
        self.time_s = math.inf
        """How long the agent may take."""
        self.acts_no_more = False
        """Whether only tidying up is left of the agent, which changes no page."""
        self.unseen = 0
        """Model calls that ended without a reply, and may have been billed."""
        self.why_late: Fault | None = None
        """What broke, and kept the agent until it was out of time."""
        self.on_ignored: Callable[[], object] = lambda: None
        """Called where something is tried after the limit."""

    @property
    def outermost(self) -> Limits:
        """Those of the attempt."""
        return self if self._outer is None else self._outer.outermost

    def reach(self, limit: LimitReached) -> LimitReached:
        """Note a limit, and return the first one that was reached."""
        if self.reached is None:
            self.reached, self._reached_at = limit, time.monotonic()
        return self.reached

    def close(self) -> None:
        """Refuse all that comes later, which only code that was left behind can try."""
        self.reach(LimitReached(TerminationReason.TIMEOUT, IS_OVER))

    def end_after(self, seconds: float, limit: LimitReached) -> None:
        """Set when the time is over, from now on: code that blocks is not cancelled then."""
        self.time_s, self._until = seconds, (time.monotonic() + seconds, limit)

    @property
    def went_on_s(self) -> float:
        """How long ago the first limit of its own was reached; 0 if none was."""
        return 0.0 if self.reached is None else time.monotonic() - self._reached_at

    def check_time(self) -> None:
        """Note that the time is over, if it is."""
        if self._until is not None and time.monotonic() > self._until[0]:
            self.reach(self._until[1])

    def use(self, usage: Usage) -> None:
        """Add the usage of a model call."""
        self.used += usage
        self.spent_usd += usage.cost_usd or 0

    def find(self) -> LimitReached | None:
        """Return what has ended the attempt, or this part of it; None if nothing has."""
        return (self._outer.find() if self._outer else None) or self.reached

    def check(self) -> None:
        """Refuse what is tried after a limit.

        Raises:
            LimitReached: there was one.
        """
        if self._outer is not None:
            self._outer.check()
        self.check_time()
        if self.reached is not None:
            self.on_ignored()
            # Another one each time: the traceback of one grows with each raise.
            raise LimitReached(self.reached.reason, str(self.reached))

    def check_usage(self) -> None:
        """Check what was used.

        Raises:
            LimitReached: tokens or money are used up.
        """
        tokens = self.used.input_tokens + self.used.output_tokens
        limit, money, why = self._max_tokens, self._max_cost_usd, ""
        if limit is not None and tokens >= limit:
            why = f"limits.max_tokens is {limit}; {tokens} were used"
        elif money is not None and self.spent_usd >= money:
            least = "at least " if self.used.cost_usd is None else ""
            why = f"limits.max_cost_usd is {money:g}; {least}{self.spent_usd:.4f} was spent"
        if why:
            raise self.reach(LimitReached(TerminationReason.BUDGET, why))

    async def admit(self) -> None:
        """Refuse what is tried after a limit, and not at once.

        Raises:
            LimitReached: there was one.
        """
        try:
            self.check()
        except LimitReached:
            await asyncio.sleep(PAUSE_S)
            raise


current_limits: ContextVar[Limits | None] = ContextVar("current_limits", default=None)
"""Those of the agent whose code runs; None outside of one, where judges are asked."""

started_under: WeakKeyDictionary[asyncio.Future[Any], Limits] = WeakKeyDictionary()
"""Under which limits the code of an agent has started a task."""
