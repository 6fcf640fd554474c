"""Model calls recorded, and answered from recordings."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from pytest_browsereval.errors import ErrorSource, Fault, LimitReached, StopRun, TerminationReason
from pytest_browsereval.features.replay import calls as replay_calls
from pytest_browsereval.features.replay.calls import AttemptCalls, CallRecorder, CallReplayer, RecordedCall

Json = dict[str, Any]


def same(value: Any) -> Any:
    return value


def asked(text: str, **more: Any) -> Json:
    return {"model": "m", "messages": [{"role": "user", "content": text}], **more}


def replied(text: str) -> Json:
    return {"choices": [{"message": {"content": text}}]}


def text_of(exchanged: tuple[Json, int]) -> str:
    return str(exchanged[0]["choices"][0]["message"]["content"])


class Model:
    """Answers with what it was asked."""

    def __init__(self, error: Exception | None = None) -> None:
        self.requests: list[Json] = []
        self.error = error

    async def __call__(self, request: Json) -> tuple[Json, int]:
        self.requests.append(request)
        await asyncio.sleep(0)
        if self.error is not None:
            raise self.error
        return replied(f"to {request['messages'][-1]['content']}"), 0


async def nobody(request: Json) -> tuple[Json, int]:
    raise AssertionError(f"sent: {request}")


def replaying(
    calls: Sequence[RecordedCall], ended: TerminationReason = TerminationReason.COMPLETED
) -> CallReplayer:
    return CallReplayer(calls, where="a.jsonl", ended=ended, hide=same, restore=same)


def recorded(*requests: tuple[str, Json], error: Exception | None = None) -> list[RecordedCall]:
    recorder, model = CallRecorder(same), Model(error)

    async def ask() -> None:
        for role, request in requests:
            try:
                await recorder.exchange(role, request, model)
            except Fault:
                assert error is not None

    asyncio.run(ask())
    return recorder.calls


def test_a_provider_that_refused_then_refuses_again() -> None:
    """With status and kind: a judge steps down to a looser form because of the status."""
    calls = recorded(("judge", asked("a")), error=Fault(ErrorSource.PROVIDER, "no schema", status=400))
    with pytest.raises(Fault, match="no schema") as caught:
        asyncio.run(replaying(calls).exchange("judge", asked("a"), nobody))
    assert (caught.value.source, caught.value.status) == (ErrorSource.PROVIDER, 400)
    calls = recorded(("agent", asked("a")), error=StopRun(ErrorSource.PROVIDER, "no key", status=401))
    with pytest.raises(StopRun, match="no key"):
        asyncio.run(replaying(calls).exchange("agent", asked("a"), nobody))


async def hang(request: Json) -> tuple[Json, int]:
    del request
    await asyncio.get_running_loop().create_future()
    return {}, 0


async def given_up(recorder: AttemptCalls, role: str, text: str) -> None:
    """Ask for something that gets no reply in time."""
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(recorder.exchange(role, asked(text), hang), 0.01)


def test_an_attempt_that_was_out_of_time_is_so_again() -> None:
    """In the middle of a call, or between two."""
    recorder = CallRecorder(same)
    asyncio.run(given_up(recorder, "agent", "a"))
    assert recorder.calls[0].is_given_up
    again = replaying(recorder.calls, TerminationReason.TIMEOUT)
    with pytest.raises(LimitReached, match="out of time at call 1 of the agent") as caught:
        asyncio.run(again.exchange("agent", asked("a"), nobody))
    assert caught.value.reason is TerminationReason.TIMEOUT
    again = replaying(recorded(("agent", asked("a"))), TerminationReason.TIMEOUT)
    asyncio.run(again.exchange("agent", asked("a"), nobody))
    with pytest.raises(LimitReached, match="out of time at call 2 of the agent"):
        asyncio.run(again.exchange("agent", asked("b"), nobody))


def test_a_call_that_was_given_up_is_given_up_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """By an executor whose time was over, say: the attempt goes on; one that waits for longer is told."""
    monkeypatch.setattr(replay_calls, "MARGIN_S", 0.05)
    recorder = CallRecorder(same)

    async def course(recorder: AttemptCalls) -> list[str]:
        await given_up(recorder, "executor", "look")
        reply = await recorder.exchange("agent", asked("go on"), Model())
        await given_up(recorder, "judge", "right?")
        return [text_of(reply)]

    assert asyncio.run(course(recorder)) == ["to go on"]
    assert [one.given_up_ms > 0 for one in recorder.calls] == [True, False, True]
    told = r"call 1 of the executor was abandoned .* in a\.jsonl, but not now"
    for ended in (TerminationReason.COMPLETED, TerminationReason.TIMEOUT):
        assert asyncio.run(course(replaying(recorder.calls, ended))) == ["to go on"]
        with pytest.raises(Fault, match=told) as caught:
            asyncio.run(replaying(recorder.calls, ended).exchange("executor", asked("look"), nobody))
        assert caught.value.source is ErrorSource.REPLAY


def test_an_end_by_time_stops_neither_judges_nor_who_was_not_there() -> None:
    """An agent of another kind was not out of time: it was not recorded. Judges ask after the end."""
    replayer = replaying(recorded(("agent", asked("a")), ("judge", asked("j"))), TerminationReason.TIMEOUT)
    asyncio.run(replayer.exchange("agent", asked("a"), nobody))
    asyncio.run(replayer.exchange("judge", asked("j"), nobody))
    with pytest.raises(Fault, match=r"call 1 of the orchestrator was not recorded .* only 0 were recorded"):
        asyncio.run(replayer.exchange("orchestrator", asked("a"), nobody))
    with pytest.raises(Fault, match=r"call 2 of the judge was not recorded .* only 1 were recorded"):
        asyncio.run(replayer.exchange("judge", asked("k"), nobody))
