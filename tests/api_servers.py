"""Servers of APIs on a socket, as strict as the real ones: what they share, and Anthropic's Messages."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from pytest_browsereval.local_server import LocalHandler, LocalServer

KEY = "sk-test-0123456789"

Body = dict[str, Any]


class Refused(ValueError):
    """A real server would answer 400."""


@dataclass(frozen=True)
class Answer:
    """What a server sends: a body of its API, or an error."""

    body: Body
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    is_cut: bool = False
    """Whether the connection ends in the middle; of a stream, an event before the last."""
    tail: tuple[Body, ...] = ()
    """Events that end a stream instead of its last ones."""


Script = Sequence[Answer | Body] | Callable[[Body], Answer | Body]


class ApiServer:
    """Answers from a script, plain or streamed, and refuses what breaks the rules of its API.

    Args:
        script: an answer for each request, or a function of the request.
    """

    path: ClassVar[str]

    def __init__(self, script: Script, *, key: str = KEY) -> None:
        self.requests: list[Body] = []
        self.headers: list[dict[str, str]] = []
        self.problems: list[str] = []
        self.key = key
        self._script = script
        self._lock = threading.Lock()
        self._server: LocalServer | None = None

    @property
    def base_url(self) -> str:
        assert self._server is not None
        return f"{self._server.url}/v1"

    def __enter__(self) -> Self:
        api = self

        class Handler(LocalHandler):
            def do_GET(self) -> None:
                is_known = api.is_let_in({name.lower(): value for name, value in self.headers.items()})
                self.send(200 if is_known else 401, "application/json", b"{}")

            def do_POST(self) -> None:
                raw = self.rfile.read(int(self.headers["content-length"]))
                if self.path != f"/v1{api.path}":
                    self.send(404, "application/json", b"{}")
                    return
                api.reply(self, json.loads(raw))

        self._server = LocalServer(Handler).start()
        return self

    def __exit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()

    def reply(self, handler: LocalHandler, body: Body) -> None:
        """Answer a request."""
        headers = {name.lower(): value for name, value in handler.headers.items()}
        try:
            with self._lock:
                answer = self._answer(body, headers)
        except Refused as problem:
            self.problems.append(str(problem))
            answer = Answer(self.error(400, str(problem)), 400)
        if body.get("stream") and answer.status == 200:
            media, pieces = "text/event-stream", self.stream(answer.body)
            pieces = [*pieces[:-2], *answer.tail] if answer.tail or answer.is_cut else pieces
            lines = (f"event: {piece['type']}\ndata: {json.dumps(piece)}\n\n" for piece in pieces)
            data, is_cut = "".join(lines).encode(), False
        else:
            media, data, is_cut = "application/json", json.dumps(answer.body).encode(), answer.is_cut
        sent = data[: len(data) // 2] if is_cut else data
        handler.send(answer.status, media, sent, {**answer.headers, "Content-Length": str(len(data))})
        handler.close_connection = handler.close_connection or is_cut

    def _answer(self, body: Body, headers: dict[str, str]) -> Answer:
        if not self.is_let_in(headers):
            return Answer(self.error(401, "invalid x-api-key"), 401)
        self.check(body)
        number = len(self.requests)
        if not callable(self._script) and number >= len(self._script):
            raise Refused(f"the script is over: it has {number} answers")
        self.requests.append(body)
        self.headers.append(headers)
        found = self._script(body) if callable(self._script) else self._script[number]
        answer = found if isinstance(found, Answer) else Answer(found)
        return Answer(
            self.finish(body, answer.body), answer.status, answer.headers, answer.is_cut, answer.tail
        )

    # -- of one API

    def is_let_in(self, headers: Mapping[str, str]) -> bool:
        raise NotImplementedError

    def check(self, body: Body) -> None:
        raise NotImplementedError

    def finish(self, request: Body, body: Body) -> Body:
        return body

    def stream(self, body: Body) -> list[Body]:
        raise NotImplementedError

    def error(self, status: int, message: str) -> Body:
        raise NotImplementedError


class Strict(BaseModel):
    """A part of a request; real servers refuse keys that they do not know."""

    model_config = ConfigDict(extra="forbid", strict=True)


def pieces_of(text: str, size: int = 7) -> list[str]:
    return [text[start : start + size] for start in range(0, len(text), size)]


# -- Anthropic's Messages; https://platform.claude.com/docs/en/api/messages

LOOK_BACK = 20
SHORTEST_CACHED = 1024
TOKENS_OF_PICTURE = 1200

Text = Annotated[str, Field(pattern=r"\S")]


class _Mark(Strict):
    type: Literal["ephemeral"]


class _Markable(Strict):
    cache_control: _Mark | None = None


class _TextBlock(_Markable):
    type: Literal["text"]
    text: Text


class _Source(Strict):
    type: Literal["base64"]
    media_type: Literal["image/jpeg", "image/png", "image/gif", "image/webp"]
    data: Annotated[str, Field(pattern=r"^[A-Za-z0-9+/]+=*$")]


class _Image(_Markable):
    type: Literal["image"]
    source: _Source


class _ToolUse(_Markable):
    type: Literal["tool_use"]
    id: Annotated[str, Field(pattern=r"^[a-zA-Z0-9_-]+$")]
    name: Annotated[str, Field(pattern=r"^[a-zA-Z0-9_-]{1,128}$")]
    input: dict[str, Any]


class _ToolResult(_Markable):
    type: Literal["tool_result"]
    tool_use_id: str
    content: list[Annotated[_TextBlock | _Image, Field(discriminator="type")]]


class _Thinking(Strict):
    type: Literal["thinking"]
    thinking: str
    signature: str


class _Redacted(Strict):
    type: Literal["redacted_thinking"]
    data: str


class _User(Strict):
    role: Literal["user"]
    content: Annotated[
        list[Annotated[_TextBlock | _Image | _ToolResult, Field(discriminator="type")]], Field(min_length=1)
    ]


class _Assistant(Strict):
    role: Literal["assistant"]
    content: Annotated[
        list[Annotated[_TextBlock | _ToolUse | _Thinking | _Redacted, Field(discriminator="type")]],
        Field(min_length=1),
    ]


class _Schema(BaseModel):
    type: Literal["object"]


class _Tool(_Markable):
    name: Annotated[str, Field(pattern=r"^[a-zA-Z0-9_-]{1,128}$")]
    description: str = ""
    input_schema: _Schema


class _Choice(Strict):
    type: Literal["auto", "any", "none", "tool"]
    name: str | None = None


class _Format(Strict):
    type: Literal["json_schema"]
    schema_: dict[str, Any] = Field(alias="schema")


class _Output(Strict):
    effort: Literal["low", "medium", "high", "xhigh", "max"] | None = None
    format: _Format | None = None


class _Think(Strict):
    type: Literal["adaptive", "disabled"]
    display: Literal["summarized", "omitted"] | None = None


class _MessagesRequest(Strict):
    model: str
    max_tokens: Annotated[int, Field(ge=1)]
    messages: Annotated[list[Annotated[_User | _Assistant, Field(discriminator="role")]], Field(min_length=1)]
    system: list[_TextBlock] = []
    tools: list[_Tool] = []
    tool_choice: _Choice | None = None
    temperature: Annotated[float, Field(ge=0, le=1)] | None = None
    output_config: _Output | None = None
    thinking: _Think | None = None
    stream: bool = False


def message(*blocks: Body | str, reason: str | None = "end_turn", **more: Any) -> Body:
    """Return a reply of Messages; a text stands for its block."""
    content = [{"type": "text", "text": block} if isinstance(block, str) else block for block in blocks]
    head = {"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-x", "content": content}
    return {**head, "stop_reason": reason, "stop_sequence": None, **more}


def uses(*calls: Body, before: Sequence[Body | str] = ()) -> Body:
    """Return a reply of Messages that calls tools."""
    return message(*before, *calls, reason="tool_use")


def use(name: str, call_id: str, /, **arguments: Any) -> Body:
    return {"type": "tool_use", "id": call_id, "name": name, "input": arguments}


def thinking(text: str, signature: str) -> Body:
    return {"type": "thinking", "thinking": text, "signature": signature}


class MessagesServer(ApiServer):
    """Anthropic's; it computes what its cache holds from the requests themselves."""

    path = "/messages"
    has_formats = True
    """Whether its model takes a JSON schema."""

    def __init__(self, script: Script, *, key: str = KEY) -> None:
        super().__init__(script, key=key)
        self._cache: set[str] = set()
        self._thought: list[list[Body]] = []

    def is_let_in(self, headers: Mapping[str, str]) -> bool:
        return headers.get("x-api-key") == self.key and "anthropic-version" in headers

    def error(self, status: int, message: str) -> Body:
        kinds = {401: "authentication_error", 429: "rate_limit_error", 529: "overloaded_error"}
        kind = kinds.get(status, "invalid_request_error")
        return {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_1"}

    def check(self, body: Body) -> None:
        try:
            request = _MessagesRequest.model_validate(body)
        except ValidationError as error:
            first = error.errors()[0]
            raise Refused(f"{'.'.join(map(str, first['loc']))}: {first['msg']}") from None
        if request.output_config and request.output_config.format and not self.has_formats:
            raise Refused("output_config.format: Extra inputs are not permitted")
        is_forced = request.tool_choice and request.tool_choice.type in ("any", "tool")
        if is_forced and request.thinking and request.thinking.type != "disabled":
            raise Refused("Thinking may not be enabled when tool_choice forces tool use.")
        if json.dumps(body).count('"cache_control"') > 4:
            raise Refused("A maximum of 4 blocks with cache_control may be provided.")
        self._check_turns(body)

    def _check_turns(self, body: Body) -> None:
        turns = body["messages"]
        if turns[0]["role"] != "user":
            raise Refused("messages.0: the first message must use the user role")
        asked: list[str] = []
        for turn in turns:
            results = [block["tool_use_id"] for block in turn["content"] if block["type"] == "tool_result"]
            kinds = [block["type"] == "tool_result" for block in turn["content"]]
            if sorted(results) != sorted(asked) or kinds != sorted(kinds, reverse=True):
                raise Refused("tool_use ids were found without tool_result blocks immediately after")
            asked = [block["id"] for block in turn["content"] if block["type"] == "tool_use"]
            if asked and not body.get("tools"):
                raise Refused("Requests which include `tool_use` or `tool_result` blocks must define tools.")
            if any("signature" in block or "data" in block for block in turn["content"]):
                plain = [_unmarked(block) for block in turn["content"]]
                if plain not in self._thought:
                    raise Refused("`thinking` blocks in the latest assistant message cannot be modified.")

    def finish(self, request: Body, body: Body) -> Body:
        """Return the reply with the tokens of the request."""
        if "content" not in body:
            return body
        self._thought.append(body["content"])
        usage = {**self.count(request), "output_tokens": 10}
        return {**body, "usage": body.get("usage", usage)}

    def count(self, request: Body) -> Body:
        """Return the tokens of a request, and remember what may be cached."""
        parts = [*request.get("tools", ()), *request.get("system", ())]
        parts += [block for turn in request["messages"] for block in turn["content"]]
        digest, total = "", 0
        prefixes: list[tuple[str, int, bool]] = []
        for part in parts:
            text = json.dumps(_unmarked(part))
            digest = hashlib.sha256((digest + text).encode()).hexdigest()
            total += TOKENS_OF_PICTURE if part.get("type") == "image" else len(text) // 4
            prefixes.append((digest, total, "cache_control" in part))
        marks = [
            n for n, (_, size, is_marked) in enumerate(prefixes) if is_marked and size >= SHORTEST_CACHED
        ]
        seen = {n for mark in marks for n in range(max(0, mark - LOOK_BACK), mark + 1)}
        read = max((prefixes[n][1] for n in seen if prefixes[n][0] in self._cache), default=0)
        self._cache |= {prefixes[n][0] for n in marks}
        written = max(prefixes[marks[-1]][1] - read, 0) if marks else 0
        return {
            "input_tokens": total - read - written,
            "cache_creation_input_tokens": written,
            "cache_read_input_tokens": read,
        }

    def stream(self, body: Body) -> list[Body]:
        """Return the events of a reply."""
        head = {**body, "content": [], "stop_reason": None, "usage": {**body["usage"], "output_tokens": 1}}
        events: list[Body] = [{"type": "message_start", "message": head}, {"type": "ping"}]
        for index, block in enumerate(body["content"]):
            empty, deltas = _take_apart(block)
            events.append({"type": "content_block_start", "index": index, "content_block": empty})
            events += [{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas]
            events.append({"type": "content_block_stop", "index": index})
        ends = {name: body.get(name) for name in ("stop_reason", "stop_sequence", "stop_details")}
        counts = {"output_tokens": body["usage"]["output_tokens"]}
        return [*events, {"type": "message_delta", "delta": ends, "usage": counts}, {"type": "message_stop"}]


def _take_apart(block: Body) -> tuple[Body, list[Body]]:
    if block["type"] == "text":
        return {**block, "text": ""}, [
            {"type": "text_delta", "text": one} for one in pieces_of(block["text"])
        ]
    if block["type"] == "thinking":
        thoughts = [{"type": "thinking_delta", "thinking": one} for one in pieces_of(block["thinking"])]
        empty = {"type": "thinking", "thinking": "", "signature": ""}
        return empty, [*thoughts, {"type": "signature_delta", "signature": block["signature"]}]
    if block["type"] == "tool_use":
        text = block["input"] if isinstance(block["input"], str) else json.dumps(block["input"])
        pieces = ["", *pieces_of(text)] if block["input"] else [""]
        return {**block, "input": {}}, [{"type": "input_json_delta", "partial_json": one} for one in pieces]
    return block, []


def _unmarked(part: Body) -> Body:
    return {name: value for name, value in part.items() if name != "cache_control"}
