"""Model calls of an attempt: taken down as they are made, or answered from what was taken down."""

from __future__ import annotations

import asyncio
import time
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from pytest_browsereval.errors import ErrorSource, Fault, LimitReached, StopRun, TerminationReason
from pytest_browsereval.llm.client import Send
from pytest_browsereval.llm.wire import Body
from pytest_browsereval.replay.volatile import (
    difference,
    digest_of,
    exchanged,
    marked,
    translation,
    without_pictures,
)

JUDGE = "judge"
"""The role that asks after the attempt, whose end does not stop it."""

MARGIN_S = 5.0
"""How much longer than in the recording it may take until a call is given up: the machine is another one."""

Change = Callable[[Any], Any]
"""Takes plain JSON, returns it changed."""


@dataclass(frozen=True)
class Veil:
    """Keeps out of the calls of a role what may stand in no cassette, beside secrets."""

    hidden: Change
    """Takes it out of plain JSON."""
    restored: Change
    """Puts it in again."""
    digest: str
    """Over what is kept out: a request is not answered by a recording in which that was something else."""


@dataclass
class Exchange:
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
    """When whoever asked gave the call up, since the attempt began; 0 if they did not, or nobody knows."""

    @property
    def is_cut(self) -> bool:
        """Whether it was given up before there was a reply: its time, or the attempt's, was over."""
        return self.reply is None and self.fault is None


class Tape(ABC):
    """Stands between the models of one attempt and the network.

    Args:
        hidden: takes secrets out of plain JSON.
    """

    def __init__(self, hidden: Change) -> None:
        self.veils: dict[str, Veil] = {}
        """By the role whose calls they are for."""
        self._secretless = hidden

    def _hidden(self, role: str, value: Any) -> Any:
        """Return plain JSON as it may stand in a cassette."""
        safe, veil = self._secretless(value), self.veils.get(role)
        return safe if veil is None else veil.hidden(safe)

    def _asked(self, role: str, request: Body) -> Body:
        """Return a request as it is in a cassette."""
        taken: Body = self._hidden(role, without_pictures(request))
        veil = self.veils.get(role)
        return taken if veil is None else {**taken, "withheld": veil.digest}

    @abstractmethod
    async def exchange(self, role: str, request: Body, send: Send) -> Body:
        """Return the reply to a request.

        Raises:
            Fault: there is none.
            LimitReached: the recorded attempt was out of time here.
        """


class RecordingTape(Tape):
    """Sends every request and takes down what became of it.

    Args:
        hidden: takes secrets out of plain JSON.
    """

    def __init__(self, hidden: Change) -> None:
        super().__init__(hidden)
        self.exchanges: list[Exchange] = []
        """In the order in which they began."""
        self._counts: Counter[str] = Counter()
        self._began = time.perf_counter()

    async def exchange(self, role: str, request: Body, send: Send) -> Body:
        """Send the request and return the reply.

        Raises:
            Fault: there is no reply.
        """
        self._counts[role] += 1
        # Taken down before it is sent: agents go on writing into the list of their messages.
        taken = Exchange(role, self._counts[role], self._asked(role, request))
        self.exchanges.append(taken)
        started = time.perf_counter()
        try:
            reply = await send(request)
        except Fault as fault:
            taken.fault = {
                "message": self._hidden(role, str(fault)),
                "status": fault.status,
                "stops_run": isinstance(fault, StopRun),
            }
            raise
        except asyncio.CancelledError:
            taken.given_up_ms = _ms_since(self._began)
            raise
        finally:
            taken.duration_ms = _ms_since(started)
        taken.reply = self._hidden(role, reply)
        return reply


def _ms_since(moment: float) -> float:
    return round((time.perf_counter() - moment) * 1000, 3)


class ReplayingTape(Tape):
    """Answers every request from a recording; one that was not made then is a fault.

    A request is met by the first one of its role that was not played yet and differs in nothing but what is
    volatile. As a rule that is the next one; roles that ask several things at once may change their order.
    One that was given up then has no reply: it is waited for until whoever asks gives it up again.

    Args:
        exchanges: what was taken down.
        where: what they are called in messages: the cassette's file.
        ended: why the recorded agent stopped.
        hidden: takes secrets out of plain JSON.
        restored: puts them in again.
    """

    def __init__(
        self,
        exchanges: Sequence[Exchange],
        *,
        where: str,
        ended: TerminationReason,
        hidden: Change,
        restored: Change,
    ) -> None:
        super().__init__(hidden)
        self._where = where
        self._ended = ended
        self._restored = restored
        self._left = [(one, *marked(one.request)) for one in exchanges]
        """What was not played yet, its request with marks for what is volatile, and what that was."""
        self._counts: Counter[str] = Counter()
        self._stopped = {one.role for one in exchanges} - {JUDGE}
        """Roles whose next call the end of the attempt may have prevented."""
        self._last = next((one for one in reversed(exchanges) if one.role != JUDGE), None)
        self._patience_s = dict(_patience(exchanges))

    @property
    def left(self) -> list[Exchange]:
        """Recorded calls that nobody has made, but for those that were never answered."""
        return [one for one, _, _ in self._left if not one.is_cut]

    async def exchange(self, role: str, request: Body, send: Send) -> Body:
        """Return what was answered then; nothing is sent.

        Raises:
            Fault: source *replay*: the request was not made then; or what the recorded call met.
            LimitReached: the recorded attempt was out of time here.
        """
        del send
        self._counts[role] += 1
        given, now = marked(self._asked(role, request))
        waiting = [place for place, (one, _, _) in enumerate(self._left) if one.role == role]
        digest = digest_of(given)
        found = next((place for place in waiting if digest_of(self._left[place][1]) == digest), None)
        if found is None:
            raise self._miss(role, given, [self._left[place][:2] for place in waiting])
        one, _, then = self._left.pop(found)
        if one.fault is not None:
            raise _fault(one.fault)
        if one.reply is None:
            raise await self._given_up(one)
        reply, veil = exchanged(one.reply, translation(then, now)), self.veils.get(role)
        said: Body = self._restored(reply if veil is None else veil.restored(reply))
        return said

    def _miss(self, role: str, given: Any, waiting: Sequence[tuple[Exchange, Any]]) -> Exception:
        number = self._counts[role]
        if not waiting:
            if self._ended is TerminationReason.TIMEOUT and role in self._stopped:
                return self._out_of_time(role)
            told = f"only {number - 1} were recorded"
        else:
            expected, template = waiting[0]
            # An older recording has in clear what is kept out now.
            told = difference(template if "withheld" in template else self._hidden(role, template), given)
            if expected.number != number:
                told = f"recorded was call {expected.number}: {told}"
        return Fault(
            ErrorSource.REPLAY,
            f"call {number} of the {role} was not recorded in {self._where}: {told}. If the change is meant, "
            "record again with  --eval-llm=record",
        )

    async def _given_up(self, one: Exchange) -> Exception:
        """Wait to be given up as then; returns what ends the attempt, or is wrong if nobody does that."""
        if one is self._last and self._ended is TerminationReason.TIMEOUT:
            return self._out_of_time(one.role)
        await asyncio.sleep(self._patience_s[one.role, one.number])
        return Fault(
            ErrorSource.REPLAY,
            f"call {self._counts[one.role]} of the {one.role} was given up before there was a reply, in "
            f"{self._where}, and is not given up now. Record again with  --eval-llm=record",
        )

    def _out_of_time(self, role: str) -> LimitReached:
        told = f"the recorded attempt was out of time at call {self._counts[role]} of the {role}"
        return LimitReached(TerminationReason.TIMEOUT, told)


def _patience(exchanges: Sequence[Exchange]) -> Iterator[tuple[tuple[str, int], float]]:
    """Yield how many seconds calls that were given up are waited for, by their roles and numbers.

    Whoever gave one up has had a time limit then, which began after the attempt and was over when they did;
    as the calls before it take no time now, all of that may be left.
    """
    asked_ms = 0.0
    for one in exchanges:
        asked_ms += one.duration_ms
        yield (one.role, one.number), (one.given_up_ms or asked_ms) / 1000 + MARGIN_S


def _fault(told: dict[str, Any]) -> Fault:
    kind = StopRun if told.get("stops_run") else Fault
    return kind(ErrorSource.PROVIDER, str(told.get("message", "")), status=told.get("status"))


_tape: ContextVar[Tape | None] = ContextVar("browsereval_tape", default=None)


@contextmanager
def taped(tape: Tape | None) -> Iterator[None]:
    """Have the model calls of this task, and of those that it starts, go by a tape."""
    token = _tape.set(tape)
    try:
        yield
    finally:
        _tape.reset(token)


class Taping:
    """Hands the model calls of a process to the tapes of their attempts.

    Args:
        is_offline: tells whether nothing is ever sent: a call without a tape is refused then.
    """

    def __init__(self, is_offline: Callable[[], bool]) -> None:
        self._is_offline = is_offline

    @property
    def is_offline(self) -> bool:
        """Whether nothing is ever sent."""
        return self._is_offline()

    async def exchange(self, role: str, request: Body, send: Send) -> Body:
        """Return the reply to a request.

        Raises:
            Fault: there is none.
            LimitReached: the recorded attempt was out of time here.
        """
        tape = _tape.get()
        if tape is not None:
            return await tape.exchange(role, request, send)
        if self.is_offline:
            raise Fault(
                ErrorSource.REPLAY,
                f"the {role} asked a model outside of its attempt (in a thread of its own, say), where "
                "nothing is recorded. Ask it in the attempt's own task.",
            )
        return await send(request)
