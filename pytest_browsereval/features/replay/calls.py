"""Model calls of an attempt: recorded as they are made, or answered from a recording."""

from __future__ import annotations

import asyncio
import time
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, ClassVar

from pytest_browsereval.errors import ErrorSource, Fault, LimitReached, StopRun, TerminationReason
from pytest_browsereval.features.replay.masking import AnswerMask, make_mask
from pytest_browsereval.features.replay.volatile import (
    compute_digest,
    describe_difference,
    mark_volatile,
    replace_pictures,
    replace_volatile,
)
from pytest_browsereval.llm.api import Body
from pytest_browsereval.llm.client import Send
from pytest_browsereval.model.tasks import Task

JUDGE = "judge"
"""The role that asks after the attempt, whose end does not stop it."""

MARGIN_S = 5.0
"""How much longer than in the recording it may take until a call is given up: the machine is another one."""

Change = Callable[[Any], Any]
"""Takes plain JSON, returns it changed."""


@dataclass
class RecordedCall:
    """One model call, as it is in a cassette: without pictures and without secrets."""

    role: str
    """Who asked: ``agent``, ``orchestrator``, ``executor``, ``judge``, ``pointer``."""
    number: int
    """Which call of that role, from 1."""
    request: Body
    reply: Body | None = None
    fault: dict[str, Any] | None = None
    """``message``, ``status`` and ``stops_run`` of a call that got no reply."""
    duration_ms: float = 0.0
    given_up_ms: float = 0.0
    """When the one who asked gave the call up, since the attempt began; 0 if they did not."""

    @property
    def is_given_up(self) -> bool:
        """Whether it was given up before there was a reply: its time, or the attempt's, was over."""
        return self.reply is None and self.fault is None


class AttemptCalls(ABC):
    """Stands between the models of one attempt and the network.

    Args:
        hide: takes secrets out of plain JSON.
    """

    is_replayed: ClassVar[bool] = False
    """Whether they are answered from a recording."""

    def __init__(self, hide: Change) -> None:
        self.judge_mask: AnswerMask | None = None
        self._hide = hide
        self._counts: Counter[str] = Counter()

    def _mask(self, role: str) -> AnswerMask | None:
        return self.judge_mask if role == JUDGE else None

    def _clean(self, role: str, value: Any) -> Any:
        """Return plain JSON as it may stand in a cassette."""
        safe, mask = self._hide(value), self._mask(role)
        return safe if mask is None else mask.mask(safe)

    def _clean_request(self, role: str, request: Body) -> Body:
        """Return a request as it is in a cassette."""
        safe: Body = self._clean(role, replace_pictures(request))
        mask = self._mask(role)
        return safe if mask is None else {**safe, "withheld": mask.digest}

    @abstractmethod
    async def exchange(self, role: str, request: Body, send: Send) -> tuple[Body, int]:
        """Return the reply to a request, and how many retries it took.

        Raises:
            Fault: there is none.
            LimitReached: the recorded attempt was out of time here.
        """

    def mask_answer(self, task: Task, row: Task) -> None:
        """Keep the reference answer of a protected task out of the calls of its judges."""
        self.judge_mask = make_mask(task, row)

    def warning(self) -> str | None:
        """Return what a reader should know of the calls; None if there is nothing."""
        return None


class CallRecorder(AttemptCalls):
    """Sends every request and records what becomes of it.

    Args:
        hide: takes secrets out of plain JSON.
    """

    def __init__(self, hide: Change) -> None:
        super().__init__(hide)
        self.calls: list[RecordedCall] = []
        """In the order in which they began."""
        self._began = time.perf_counter()

    async def exchange(self, role: str, request: Body, send: Send) -> tuple[Body, int]:
        """Send the request and return the reply.

        Raises:
            Fault: there is no reply.
        """
        self._counts[role] += 1
        # Recorded before it is sent: agents go on writing into the list of their messages.
        call = RecordedCall(role, self._counts[role], self._clean_request(role, request))
        self.calls.append(call)
        started = time.perf_counter()
        try:
            reply, retries = await send(request)
        except Fault as fault:
            call.fault = {
                "message": self._clean(role, str(fault)),
                "status": fault.status,
                "stops_run": isinstance(fault, StopRun),
            }
            raise
        except asyncio.CancelledError:
            call.given_up_ms = _ms_since(self._began)
            raise
        finally:
            call.duration_ms = _ms_since(started)
        call.reply = self._clean(role, reply)
        return reply, retries


def _ms_since(moment: float) -> float:
    return round((time.perf_counter() - moment) * 1000, 3)


class CallReplayer(AttemptCalls):
    """Answers every request from a recording; a request that was not recorded is a fault.

    The first call of the role answers that was not replayed yet and differs in nothing but what is volatile.
    As a rule that is the next one; roles that ask several things at once may change their order.
    A call that was given up has no reply: the replayer waits until the caller gives it up again.

    Args:
        calls: the recorded ones.
        where: what they are called in messages: the cassette's file.
        ended: why the recorded agent stopped.
        hide: takes secrets out of plain JSON.
        restore: puts them in again.
    """

    is_replayed = True

    def __init__(
        self,
        calls: Sequence[RecordedCall],
        *,
        where: str,
        ended: TerminationReason,
        hide: Change,
        restore: Change,
    ) -> None:
        super().__init__(hide)
        self._where = where
        self._was_late = ended is TerminationReason.TIMEOUT
        self._restore = restore
        self._left = [(call, *mark_volatile(call.request)) for call in calls]
        """What was not replayed yet, its request with marks for what is volatile, and what that was."""
        self._stopped = {call.role for call in calls} - {JUDGE}
        """Roles whose next call the end of the attempt may have prevented."""
        self._last = next((call for call in reversed(calls) if call.role != JUDGE), None)

    def warning(self) -> str | None:
        """Tell of recorded calls that nobody has made, except those that had no reply."""
        left = [call for call, _, _ in self._left if not call.is_given_up]
        if not left:
            return None
        first = f"the first is call {left[0].number} of the {left[0].role}"
        return f"{len(left)} recorded model calls were not made; {first}"

    async def exchange(self, role: str, request: Body, send: Send) -> tuple[Body, int]:
        """Return the recorded reply; nothing is sent.

        Raises:
            Fault: source *replay*: the request was not recorded; or what the recorded call met.
            LimitReached: the recorded attempt was out of time here.
        """
        del send
        self._counts[role] += 1
        asked, now = mark_volatile(self._clean_request(role, request))
        waiting = [place for place, (call, _, _) in enumerate(self._left) if call.role == role]
        digest = compute_digest(asked)
        # Not simply the next one: graders and lanes ask several things at once.
        found = next((place for place in waiting if compute_digest(self._left[place][1]) == digest), None)
        if found is None:
            raise self._refuse(role, asked, [self._left[place][:2] for place in waiting])
        call, _, then = self._left.pop(found)
        if (met := call.fault) is not None:
            kind = StopRun if met.get("stops_run") else Fault
            raise kind(ErrorSource.PROVIDER, str(met.get("message", "")), status=met.get("status"))
        # Given up then, because a limit was over; now the limit has to end it again.
        if call.reply is None:
            raise await self._wait_for_end(call)
        reply, mask = replace_volatile(call.reply, then, now), self._mask(role)
        return self._restore(reply if mask is None else mask.unmask(reply)), 0

    def _refuse(self, role: str, asked: Any, waiting: Sequence[tuple[RecordedCall, Any]]) -> Exception:
        """Return what is wrong with a request that was not recorded."""
        number = self._counts[role]
        if not waiting:
            if self._was_late and role in self._stopped:
                return self._stop(role)
            why = f"only {number - 1} were recorded"
        else:
            expected, template = waiting[0]
            # Recorded before the row was protected, the answer is not masked.
            why = describe_difference(
                template if "withheld" in template else self._clean(role, template), asked
            )
            if expected.number != number:
                why = f"expected call {expected.number}: {why}"
        return Fault(
            ErrorSource.REPLAY,
            f"call {number} of the {role} was not recorded in {self._where}: {why}. If the change is "
            "intended, record again with `--eval-llm=record`",
        )

    async def _wait_for_end(self, call: RecordedCall) -> Exception:
        """Wait to be given up as then; returns what ends the attempt, or is wrong if nobody does that."""
        if call is self._last and self._was_late:
            return self._stop(call.role)
        # The one who gave it up had a limit then, of which the calls before it take nothing now.
        await asyncio.sleep(call.given_up_ms / 1000 + MARGIN_S)
        return Fault(
            ErrorSource.REPLAY,
            f"call {self._counts[call.role]} of the {call.role} was abandoned before its reply in "
            f"{self._where}, but not now. Record again with `--eval-llm=record`",
        )

    def _stop(self, role: str) -> LimitReached:
        why = f"the recorded attempt ran out of time at call {self._counts[role]} of the {role}"
        return LimitReached(TerminationReason.TIMEOUT, why)


current_calls: ContextVar[AttemptCalls | None] = ContextVar("browsereval_calls", default=None)
"""What records or replays the model calls of this task, and of those that it starts."""
