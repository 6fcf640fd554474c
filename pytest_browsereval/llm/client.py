"""The chat-completions client: one request, its retries, its usage and cost."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Protocol
from urllib.parse import urlsplit
from weakref import WeakKeyDictionary

from pytest_browsereval.errors import ConfigError, Fault, LimitReached
from pytest_browsereval.llm import json_tools
from pytest_browsereval.llm.api import Body
from pytest_browsereval.llm.completion import UNREADABLE, Completion, check_body, has_begun, read_body
from pytest_browsereval.llm.config import LLMConfig
from pytest_browsereval.llm.prices import cost_usd
from pytest_browsereval.llm.retries import RetryPolicy, TryFailed
from pytest_browsereval.llm.server import Server
from pytest_browsereval.llm.usage import read_usage
from pytest_browsereval.llm.wire import Wire
from pytest_browsereval.model.limits import current_limits
from pytest_browsereval.model.usage import Usage

Send = Callable[[Body], Awaitable[tuple[Body, int]]]
"""Takes a request's JSON body, returns the body of the reply and how many retries it took."""


class Interceptor(Protocol):
    """Stands between every client and the network: records replies, or answers from a record."""

    @property
    def is_offline(self) -> bool:
        """True if it never sends anything: then no key is needed."""

    async def exchange(self, role: str, request: Body, send: Send) -> tuple[Body, int]:
        """Return what ``send(request)`` returns, or a reply from elsewhere, which took no retries.

        Args:
            role: who asks, ``agent`` or ``judge`` for example.
            request: model, messages and all other parameters; holds no key.
            send: sends it, retries included.

        Raises:
            Fault: there is no reply.
        """


class ChatClient:
    """Talks to one model. Safe to be shared by all lanes of a process.

    Args:
        config: the model.
        policy: how requests are tried again; made of the config by default.
    """

    def __init__(self, config: LLMConfig, policy: RetryPolicy | None = None) -> None:
        self.config = config
        self._policy = policy or RetryPolicy(max_tries=config.max_tries, deadline_s=config.retry_deadline_s)
        self._wire = Wire(config)
        name = f"{config.provider} {config.model_name} at {urlsplit(config.url).netloc}"
        self._server = Server("model", name, _key_name(config), config.secrets)

    async def complete(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        tools: Sequence[Mapping[str, Any]] = (),
        response_format: Mapping[str, Any] | None = None,
        tool_choice: str | Mapping[str, Any] | None = None,
        role: str = "agent",
    ) -> Completion:
        """Send a conversation and return the model's reply.

        Args:
            messages: as chat completions define them.
            tools: function tools, ``{"type": "function", "function": {...}}``. A model without native
                tool calling reads them as text, and each of its replies is one call.
            response_format: a JSON schema that the reply has to follow, for providers that know it.
            tool_choice: ``auto``, ``required``, ``none`` or a tool.
            role: who asks; it tells recorded calls apart.

        Raises:
            Fault: source *provider*; the provider refused the request, or gave no usable reply in time. Its
                ``usage`` counts the replies that were not usable, if there were any.
            StopRun: the provider refused the key, or the account is empty.
            ConfigError: there is no key.
            LimitReached: a limit has ended the attempt; nothing was sent.
        """
        request = self._request(messages, tools, response_format, tool_choice)
        is_by_text = not self.config.has_native_tools
        if is_by_text:
            request = json_tools.as_texts(request, has_schema=self.config.traits.has_json_schema)
        started = time.perf_counter()
        lost: list[Any] = []
        try:
            body, retries = await exchange(role, request, partial(self._send, lost))
        except Fault as fault:
            if lost:
                usage = sum(map(read_usage, lost), Usage())
                fault.usage = usage.model_copy(update={"cost_usd": await cost_usd(self.config, usage)})
            raise
        try:
            taken = {call["id"] for message in messages for call in message.get("tool_calls") or ()}
            reply = read_body(check_body(body), taken)
            # What was broken off before is paid for as well.
            usage = sum(map(read_usage, body.get("lost_usage", ())), reply.usage)
            if is_by_text and tools and tool_choice != "none":
                reply = json_tools.as_tool_call(reply, len(messages))
            model = body.get("model")
            cost = await cost_usd(self.config, usage, model if isinstance(model, str) else None)
        except TryFailed as failure:  # of a record that someone has changed
            raise self._server.fault(failure) from None
        except UNREADABLE as error:
            raise self._server.fault(_unreadable(error)) from error
        return replace(
            reply,
            usage=usage.model_copy(update={"cost_usd": cost}),
            duration_ms=round((time.perf_counter() - started) * 1000, 3),
            retries=retries,
        )

    async def close(self) -> None:
        """Close the connections; a later request opens new ones."""
        await self._wire.close()

    def _request(
        self,
        messages: Sequence[Mapping[str, Any]],
        tools: Sequence[Mapping[str, Any]],
        response_format: Mapping[str, Any] | None,
        tool_choice: str | Mapping[str, Any] | None,
    ) -> Body:
        config = self.config
        wanted = {
            "tools": list(tools) or None,
            "tool_choice": tool_choice,
            "response_format": response_format,
            "temperature": config.temperature,
            config.traits.output_limit_field: config.max_output_tokens,
            "seed": config.seed,
            "reasoning_effort": config.reasoning_effort,
        }
        # Left out and not null: several servers refuse a null.
        given = {name: value for name, value in wanted.items() if value is not None}
        return {"model": config.model_name, "messages": list(messages), **given}

    async def _send(self, lost: list[Any], request: Body) -> tuple[Body, int]:
        async def attempt() -> Body:
            body: Any = None
            try:
                body = await self._wire.send(request)
                return check_body(body)
            except (TryFailed, *UNREADABLE) as error:
                with contextlib.suppress(TryFailed, *UNREADABLE):
                    read_usage(body["usage"])  # an absurd one is not added
                    lost.extend([body["usage"]] if body["usage"] else [])
                failure = error if isinstance(error, TryFailed) else _unreadable(error)
                got = body if isinstance(body, Mapping) else {}
                # What came before an error is paid for.
                failure.may_be_billed = (failure.may_be_billed or has_begun(got)) and not got.get("usage")
                raise failure from (None if failure is error else error)

        reply, retries = await self._server.ask(self._policy, self.config.request_timeout_s, attempt)
        return {**reply, "lost_usage": lost} if lost else reply, retries


def _key_name(config: LLMConfig) -> str:
    with contextlib.suppress(ConfigError):
        if config.resolve_key() is None:
            return ""
    named = config.model_dump(mode="json")["api_key"] or config.traits.key_variable
    return f"the key {named}" if named and "*" not in named else "the api_key"


def _unreadable(error: Exception) -> TryFailed:
    return TryFailed(f"the reply cannot be read: {type(error).__name__}: {error}")


# -- the clients of this process

_interceptor: Interceptor | None = None
_clients: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[tuple[Any, ...], ChatClient]] = (
    WeakKeyDictionary()
)


def set_interceptor(interceptor: Interceptor | None) -> Interceptor | None:
    """Put something between all clients of this process and the network; None takes it away.

    Returns what was there before, for the one who puts it back.
    """
    global _interceptor
    before, _interceptor = _interceptor, interceptor
    return before


async def exchange(role: str, request: Body, send: Send) -> tuple[Body, int]:
    """Return the reply to a request, and how many retries it took.

    Args:
        role: who asks.
        request: what is sent, without a key.
        send: sends it, unless the interceptor has the reply.

    Raises:
        Fault: there is no reply.
        LimitReached: a limit has ended the attempt, or had ended the one that is replayed.
    """
    limits = current_limits.get()
    if limits is not None:
        await limits.admit()
    if _interceptor is None:
        return await send(request)
    try:
        return await _interceptor.exchange(role, request, send)
    except LimitReached as limit:  # of the attempt that is replayed
        if limits is not None:
            limits.outermost.reach(limit)
        raise


def chat_client(config: LLMConfig) -> ChatClient:
    """Return the client of a model on the running loop: attempts share it, and its connections."""
    # By loop: connections belong to the one that opened them.
    clients = _clients.setdefault(asyncio.get_running_loop(), {})
    # An agent's block may have more than its model, and what has no hash.
    model = tuple(getattr(config, name) for name in LLMConfig.model_fields)
    if model not in clients:
        clients[model] = ChatClient(config)
    return clients[model]


async def close_clients() -> None:
    """Close all clients of the running loop; never raises."""
    for client in _clients.pop(asyncio.get_running_loop(), {}).values():
        with contextlib.suppress(Exception):
            await client.close()


def needs_keys() -> bool:
    """Whether anything is sent to models, so that keys are needed."""
    return _interceptor is None or not _interceptor.is_offline


def check_key(config: LLMConfig) -> None:
    """Check before anything is spent that there is a key, where one will be needed.

    Raises:
        ConfigError: there is none; the message tells which variable to set.
    """
    if needs_keys():
        config.resolve_key()
