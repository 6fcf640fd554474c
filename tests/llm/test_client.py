from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import pytest

from pytest_browsereval.errors import ErrorSource, Fault, StopRun
from pytest_browsereval.llm.client import ChatClient, set_interceptor
from pytest_browsereval.llm.completion import Completion
from pytest_browsereval.llm.config import LLMConfig
from pytest_browsereval.llm.retries import RetryPolicy
from pytest_browsereval.llm.server import LONGEST_MESSAGE
from pytest_browsereval.testing import ModelRequest, Reply, ScriptedModel, refuses, says, sends

pytestmark = pytest.mark.quick

KEY = "sk-test-0123456789"
HELLO = [{"role": "user", "content": "hello"}]


class Waits:
    """Stands for asyncio.sleep: takes no time, and moves the policy's clock."""

    def __init__(self) -> None:
        self.all: list[float] = []

    async def sleep(self, seconds: float) -> None:
        self.all.append(seconds)

    def policy(self, **fields: Any) -> RetryPolicy:
        return RetryPolicy(
            **{"sleep": self.sleep, "clock": lambda: sum(self.all), "draw": lambda: 1.0, **fields}
        )


@pytest.fixture
def waits() -> Waits:
    return Waits()


def settings(model: ScriptedModel | str, **fields: Any) -> LLMConfig:
    url = model if isinstance(model, str) else model.base_url
    return LLMConfig.model_validate({"model": "scripted", "base_url": url, "api_key": KEY, **fields})


def with_client(
    config: LLMConfig, policy: RetryPolicy | None, use: Callable[[ChatClient], Awaitable[Any]]
) -> Any:
    async def run() -> Any:
        client = ChatClient(config, policy)
        try:
            return await use(client)
        finally:
            await client.close()

    return asyncio.run(run())


def ask(config: LLMConfig, policy: RetryPolicy | None = None, **options: Any) -> Completion:
    reply = with_client(config, policy, lambda client: client.complete(HELLO, **options))
    assert isinstance(reply, Completion)
    return reply


@pytest.fixture(params=[False, True], ids=["plain", "streamed"])
def stream(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


def test_settings_reach_the_request() -> None:
    """What is set is sent under the provider's names; what is not set is left out."""
    tool = {"type": "function", "function": {"name": "done", "parameters": {"type": "object"}}}
    schema = {"type": "json_schema", "json_schema": {"name": "grade", "schema": {"type": "object"}}}
    with ScriptedModel(lambda _: says("ok")) as model:
        ask(settings(model))
        ask(
            settings(model, temperature=0, seed=7, max_output_tokens=50, reasoning_effort="low"),
            tools=[tool],
            tool_choice="auto",
            response_format=schema,
        )
        ask(settings(model, provider="openai", max_output_tokens=50))
    assert set(model.requests[0].body) == {"model", "messages"}
    second = model.requests[1].body
    assert (second["temperature"], second["seed"], second["max_tokens"]) == (0, 7, 50)
    assert (second["tools"], second["tool_choice"], second["reasoning_effort"]) == ([tool], "auto", "low")
    assert second["response_format"] == schema
    assert model.requests[2].body["max_completion_tokens"] == 50
    assert model.problems == []


@pytest.mark.parametrize("status", [408, 409, 429, 500, 503])
def test_passing_troubles_are_tried_again(
    waits: Waits,
    status: int,
    stream: bool,  # noqa: FBT001 a fixture
) -> None:
    """The third try succeeds; the waits before it double."""
    with ScriptedModel([refuses(status), refuses(status), says("at last")]) as model:
        reply = ask(settings(model, stream=stream), waits.policy())
    assert (reply.text, reply.retries) == ("at last", 2)
    assert waits.all == [1.0, 2.0]


UNUSABLE = {
    "half JSON": sends('{"choices": [{"mess'),
    "HTML": sends("<html>Bad gateway</html>"),
    "no choices": sends('{"choices": []}'),
    "error in a 200": sends('{"error": {"message": "upstream is busy", "code": 503}}'),
    "a list": sends("[]"),
    "cut": says("the connection ends in the middle of this").cut(),
    "a stream of rubbish": sends("data: {oops\n\n"),
}


def test_unusable_replies_are_tried_again(subtests: pytest.Subtests) -> None:
    """A reply that cannot be read, or half a stream, is no answer, and no crash."""
    for name, broken in UNUSABLE.items():
        for stream in (False, True) if "cut" in name or "stream" in name else (False,):
            with subtests.test(name, stream=stream), ScriptedModel([broken, says("whole")]) as model:
                reply = ask(settings(model, stream=stream), Waits().policy())
                assert (reply.text, reply.retries) == ("whole", 1)


def test_the_wait_that_a_provider_asks_for_is_respected() -> None:
    """By a header, or in the body, where Google names it: no request is sent before that moment."""
    detail = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "25s"}
    raw = json.dumps([{"error": {"code": 429, "message": "Please retry.", "details": [detail]}}])
    for refusal, wait_s in ((refuses(429, retry_after=17), 17.0), (Reply(status=429, raw=raw), 25.0)):
        waits = Waits()
        with ScriptedModel([refusal, says("ok")]) as model:
            ask(settings(model), waits.policy(draw=lambda: 0.0))
        assert waits.all == [wait_s]


def test_a_rate_limit_is_waited_for_until_the_deadline(waits: Waits) -> None:
    """It says nothing but that it is too early; with one try it is told at once."""
    asked: list[ModelRequest] = []

    def busy(request: ModelRequest) -> Reply:
        asked.append(request)
        return says("at last") if len(asked) == 12 else refuses(429, "slow down")

    with ScriptedModel(busy) as model:
        assert ask(settings(model), waits.policy(max_tries=2)).retries == 11
    assert (sum(waits.all), max(waits.all)) == (211, 30)
    with ScriptedModel(lambda _: refuses(429, "slow down")) as model:
        with pytest.raises(Fault, match="would pass retry_deadline_s"):
            ask(settings(model), waits.policy(max_tries=2))
        count = len(model.requests)
        with pytest.raises(Fault, match="answered 429: slow down"):
            ask(settings(model), waits.policy(max_tries=1))
        assert len(model.requests) == count + 1


def test_tries_end_with_a_fault(waits: Waits) -> None:
    """After the last try the fault tells provider, status, tries and the provider's words."""
    with (
        ScriptedModel(lambda _: refuses(503, "the engine is overloaded")) as model,
        pytest.raises(
            Fault, match=r"scripted at 127\.0\.0\.1:\d+ answered 503 after 3 tries: the engine"
        ) as caught,
    ):
        ask(settings(model), waits.policy(max_tries=3))
    assert caught.value.source is ErrorSource.PROVIDER
    assert not isinstance(caught.value, StopRun)
    assert (len(model.requests), len(waits.all)) == (3, 2)


def test_no_wait_passes_the_deadline(waits: Waits) -> None:
    """A provider that asks to wait longer than allowed is given up at once, and the message says so."""
    with (
        ScriptedModel(lambda _: refuses(429, "slow down", retry_after=3600)) as model,
        pytest.raises(Fault, match=r"slow down \(the next try in 360\d s would pass retry_deadline_s\)"),
    ):
        ask(settings(model), waits.policy(deadline_s=600))
    assert (len(model.requests), waits.all) == (1, [])


def test_requests_that_cannot_succeed_are_not_tried_again(subtests: pytest.Subtests) -> None:
    """A wrong one errs its row; a key or an account that no request can succeed with ends the run."""
    wrong = [(refuses(status, "no such thing"), Fault, "no such thing") for status in (400, 404, 413, 422)]
    keys = [refuses(401), refuses(403), refuses(402), refuses(429, code="insufficient_quota")]
    for refusal, kind, told in [*wrong, *((one, StopRun, "Check the api_key") for one in keys)]:
        waits = Waits()
        with subtests.test(status=refusal.status), ScriptedModel([refusal] * 2) as model:
            with pytest.raises(Fault, match=told) as caught:
                ask(settings(model), waits.policy())
            assert type(caught.value) is kind or (kind is Fault and not isinstance(caught.value, StopRun))
            assert caught.value.source is ErrorSource.PROVIDER
            assert (len(model.requests), waits.all) == (1, [])


def test_a_refused_key_is_told_by_its_variable(waits: Waits, monkeypatch: pytest.MonkeyPatch) -> None:
    """The message says which variable to look at."""
    monkeypatch.setenv("MY_MODEL_KEY", "sk-wrong-0123456789")
    with ScriptedModel([], api_key=KEY) as model, pytest.raises(StopRun, match="the key MY_MODEL_KEY"):
        ask(settings(model, api_key="MY_MODEL_KEY"), waits.policy())


def test_a_key_never_comes_back_in_a_message(waits: Waits) -> None:
    """A provider that repeats the key, at any place of a long message, does not get it printed."""
    words = "x" * (LONGEST_MESSAGE - 10) + f"{KEY}, friend"
    for text in (f"Incorrect API key provided: {KEY}.", words):
        with ScriptedModel(lambda _, text=text: refuses(400, text)) as model:  # type: ignore[misc]
            with pytest.raises(Fault) as caught:
                ask(settings(model), waits.policy())
            assert "sk-test" not in str(caught.value)


def test_a_server_that_is_not_there_is_a_fault(waits: Waits) -> None:
    """A refused connection is tried again, and then told with its cause."""
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{holder.getsockname()[1]}/v1"
        with pytest.raises(Fault, match="gave no usable reply after 2 tries: the connection failed"):
            ask(settings(url), waits.policy(max_tries=2))
    assert len(waits.all) == 1


def test_a_slow_reply_is_given_up_and_tried_again(waits: Waits, stream: bool) -> None:  # noqa: FBT001 a fixture
    """Each request has its own limit of time."""

    def answer(_: ModelRequest) -> Reply:
        return says("too late").after(300) if len(model.requests) == 1 else says("in time")

    # A machine that is busy may take too long for the next ones as well: any of them will do.
    with ScriptedModel(answer) as model:
        reply = ask(settings(model, stream=stream, request_timeout_s=2), waits.policy(max_tries=20))
    assert reply.text == "in time"
    assert reply.retries == len(waits.all) >= 1


def test_a_proxy_of_the_environment_does_not_catch_local_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    """A model on this machine is reached although a proxy is set for everything."""
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    with ScriptedModel(["direct"]) as model:
        assert ask(settings(model, max_tries=1)).text == "direct"


def test_no_key_of_the_environment_is_sent_to_a_keyless_server(monkeypatch: pytest.MonkeyPatch) -> None:
    """OPENAI_API_KEY and its companions stay at home."""
    for name in ("OPENAI_API_KEY", "OPENAI_ADMIN_KEY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID"):
        monkeypatch.setenv(name, "value-of-the-environment")
    with ScriptedModel(["ok"]) as model:
        ask(settings(model, api_key=None))
    request = model.requests[0]
    assert request.authorization is None
    assert "value-of-the-environment" not in str(dict(request.headers))


class Between:
    """Sees every exchange; with a reply of its own, nothing is sent."""

    def __init__(self, reply: dict[str, Any] | None = None) -> None:
        self.is_offline = reply is not None
        self.reply = reply
        self.seen: list[tuple[str, dict[str, Any], dict[str, Any]]] = []

    async def exchange(self, role: str, request: dict[str, Any], send: Any) -> tuple[dict[str, Any], int]:
        reply, retries = await send(request) if self.reply is None else (self.reply, 0)
        self.seen.append((role, request, reply))
        return reply, retries


@pytest.fixture
def nothing_between() -> Iterator[None]:
    yield
    set_interceptor(None)


@pytest.mark.usefixtures("nothing_between")
def test_a_record_of_a_reply_that_is_not_whole_is_refused() -> None:
    """A cassette can be edited; the rule holds for it as well."""
    broken = {"choices": [{"message": {"content": "7"}, "finish_reason": "error"}]}
    for body in (broken, {**broken, "lost_usage": 3}):
        set_interceptor(Between(body))
        with pytest.raises(Fault, match="cut the reply off"):
            ask(LLMConfig(provider="openai", model="gpt-4o"))
    whole = {"choices": [{"message": {"content": "7"}, "finish_reason": "stop"}], "lost_usage": 3}
    set_interceptor(Between(whole))
    with pytest.raises(Fault, match="cannot be read"):
        ask(LLMConfig(provider="openai", model="gpt-4o"))
