"""A model server on a loopback port that answers from a script."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

from pytest_browsereval.features.scripted_model.protocol import Refused, check_request
from pytest_browsereval.features.scripted_model.replies import Reply, body_of, chunks_of, refuses, says
from pytest_browsereval.local_server import LocalHandler, LocalServer


@dataclass(frozen=True)
class ModelRequest:
    """One request that the server got."""

    body: Mapping[str, Any]
    headers: Mapping[str, str]
    """Without ``Authorization``. Names are in lower case."""
    authorization: str | None = field(default=None, repr=False)
    """The header that holds the key."""

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The conversation."""
        return list(self.body["messages"])

    @property
    def tool_names(self) -> list[str]:
        """Names of the tools that the model may call."""
        return [tool["function"]["name"] for tool in self.body.get("tools") or ()]

    @property
    def last_text(self) -> str:
        """The text of the last message."""
        return _text(self.messages[-1])

    @property
    def text(self) -> str:
        """The text of all messages, in order."""
        return "\n".join(_text(message) for message in self.messages)


def _text(message: Mapping[str, Any]) -> str:
    content = message.get("content") or ""
    if isinstance(content, str):
        return content
    return "".join(part.get("text", "") for part in content)


Script = Sequence[Reply | str] | Callable[[ModelRequest], Reply | str]


class ScriptedModel:
    """Speaks the chat-completions protocol, streamed and plain, on a real socket.

    Use it as a context manager, with ``base_url`` as the model's address::

        with ScriptedModel([calls(call("click", target="text=Buy")), done("bought")]) as model:
            config = {"type": "single", "model": "scripted", "base_url": model.base_url}

    It refuses with status 400 what real servers refuse: tool messages that answer no call, calls
    without an answer, unknown parameters, bad names. A script that is over refuses as well, and so a
    test cannot pass with more requests than the script has replies.

    Args:
        script: the replies, one for each request; or a function that makes a reply of a request.
            A plain string is a reply of text.
        api_key: the key to ask for; without it every key is taken.
    """

    def __init__(self, script: Script, *, api_key: str | None = None) -> None:
        self.requests: list[ModelRequest] = []
        """All requests that were answered from the script, in order."""
        self.problems: list[str] = []
        """Why requests were refused that broke the protocol."""
        self._script = script
        self._api_key = api_key
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._server: _Server | None = None

    @property
    def base_url(self) -> str:
        """Where the server listens: ``http://127.0.0.1:PORT/v1``."""
        if self._server is None:
            raise RuntimeError("the scripted model is not running. Use it in a with block, or call start()")
        return f"{self._server.url}/v1"

    @property
    def left(self) -> int:
        """How many replies of a list are left."""
        return 0 if callable(self._script) else len(self._script) - len(self.requests)

    def start(self) -> Self:
        """Listen on a free port."""
        self._closing.clear()
        self._server = _Server(self)
        self._server.start()
        return self

    def close(self) -> None:
        """End all connections and give the port back."""
        server, self._server = self._server, None
        self._closing.set()
        if server is not None:
            server.close()

    def __enter__(self) -> Self:
        """Start."""
        return self.start()

    def __exit__(self, *_: object) -> None:
        """Close."""
        self.close()

    def assert_finished(self) -> None:
        """Assert that every reply was asked for and that no request broke the protocol."""
        if self.problems:
            raise AssertionError(f"requests that a real server refuses: {self.problems}")
        if self.left:
            raise AssertionError(f"{self.left} replies of the script were never asked for")

    # -- called by the connections' threads

    def answer(self, request: ModelRequest) -> Reply:
        """Return the reply to a request."""
        if self._api_key is not None and request.authorization != f"Bearer {self._api_key}":
            return refuses(401, "Incorrect API key provided", code="invalid_api_key")
        try:
            check_request(request.body)
            reply = self._next(request)
        except Refused as problem:
            self.problems.append(str(problem))
            return refuses(400, str(problem))
        return says(reply) if isinstance(reply, str) else reply

    def _next(self, request: ModelRequest) -> Reply | str:
        with self._lock:
            # Agents ask in parallel, and each request takes a reply of its own.
            number = len(self.requests)
            if not callable(self._script) and number >= len(self._script):
                raise Refused(f"the script is over: it has {number} replies")
            self.requests.append(request)
        if not callable(self._script):
            return self._script[number]
        try:
            return self._script(request)
        except Exception as error:
            raise Refused(f"the script raised {type(error).__name__}: {error}") from error

    def wait(self, seconds: float) -> bool:
        """Wait, or until the server is closed; return True in the second case."""
        return self._closing.wait(seconds)


class _Server(LocalServer):
    def __init__(self, model: ScriptedModel) -> None:
        self.model = model
        super().__init__(_Handler)


class _Handler(LocalHandler):
    server: _Server

    def do_GET(self) -> None:
        """Answer the list of models."""
        if self.path == "/v1/models":
            models = [{"id": "scripted", "object": "model", "created": 1, "owned_by": "tests"}]
            self._send_json({"object": "list", "data": models})
        else:
            self._send_json({"error": {"message": f"no such path: {self.path}"}}, 404)

    def do_POST(self) -> None:
        """Answer a chat completion."""
        raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        if self.path != "/v1/chat/completions":
            self._send_json({"error": {"message": f"no such path: {self.path}"}}, 404)
            return
        request = self._request(raw)
        reply = self.server.model.answer(request)
        # The server is closing: an answer would only hold up the test.
        if reply.delay_s and self.server.model.wait(reply.delay_s):
            self.close_connection = True
        elif request.body.get("stream") and reply.status < 300 and reply.raw is None:
            self._stream(request, reply)
        else:
            self._send_reply(reply, str(request.body.get("model")))

    def _request(self, raw: bytes) -> ModelRequest:
        headers = {name.lower(): value for name, value in self.headers.items()}
        key = headers.pop("authorization", None)
        try:
            body = json.loads(raw)
        except ValueError:
            body = None
        return ModelRequest(body if isinstance(body, dict) else {}, headers, key)

    def _send_json(self, value: Any, status: int = 200) -> None:
        self.send(status, "application/json", json.dumps(value).encode())

    def _send_reply(self, reply: Reply, model: str) -> None:
        data = (json.dumps(body_of(reply, model)) if reply.raw is None else reply.raw).encode()
        sent = data[: len(data) // 2] if reply.is_cut else data
        self.send(reply.status, "application/json", sent, {**reply.headers, "Content-Length": str(len(data))})
        self.close_connection = self.close_connection or reply.is_cut

    def _stream(self, request: ModelRequest, reply: Reply) -> None:
        wants_usage = bool((request.body.get("stream_options") or {}).get("include_usage"))
        chunks = chunks_of(reply, str(request.body.get("model")), with_usage=wants_usage)
        events = [f"data: {json.dumps(chunk)}\n\n".encode() for chunk in chunks] + [b"data: [DONE]\n\n"]
        if reply.is_cut:
            events = events[: len(events) // 2]
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        for name, value in reply.headers.items():
            self.send_header(name, value)
        self.end_headers()
        for event in events:
            self.wfile.write(b"%x\r\n%s\r\n" % (len(event), event))
            self.wfile.flush()
        if reply.is_cut:
            self.close_connection = True
        else:
            self.wfile.write(b"0\r\n\r\n")
