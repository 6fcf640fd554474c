"""How an API writes requests and replies: chat completions here, others in features."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from pytest_browsereval.llm.config import LLMConfig, find_feature
from pytest_browsereval.llm.retries import TryFailed
from pytest_browsereval.llm.stream import read_stream

Body = dict[str, Any]


class Api:
    """Chat completions. Another API derives from it, and turns its requests and replies into these.

    Args:
        config: the model.
    """

    path: ClassVar[str] = "/chat/completions"
    """Where requests go, below the base URL."""

    def __init__(self, config: LLMConfig) -> None:
        self._config = config

    def headers(self, key: str | None) -> dict[str, str]:
        """Return the headers that carry the key; None: the server wants none."""
        return {"Authorization": f"Bearer {key}"} if key else {}

    def write(self, request: Mapping[str, Any]) -> Body:
        """Return what is sent for a chat-completions request."""
        streaming = {"stream": True, "stream_options": {"include_usage": True}}
        return {**request, **(streaming if self._config.stream else {})}

    def adapt(self, failure: TryFailed, sent: Body) -> bool:
        """Return whether the same request, written again, leaves out what the server refused."""
        del failure, sent
        return False

    def read(self, reply: Any) -> Any:
        """Return the chat-completions body of a reply; one that cannot be read stays as it is.

        Raises:
            TypeError, LookupError, AttributeError: it is not what the API defines.
        """
        return reply

    def read_stream(self, text: str) -> Any:
        """Return the chat-completions body of a streamed reply.

        Raises:
            ValueError: a piece of it is not JSON.
        """
        return read_stream(text)


def open_api(config: LLMConfig) -> Api:
    """Return the API that a model is asked by."""
    feature = find_feature(config.api_name)
    kind: type[Api] = feature.load(feature.apis[config.api_name]) if feature else Api
    return kind(config)
