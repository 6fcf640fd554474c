"""A server that plays a model for command-line agents: four wires, streamed, by the steps of a solution."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Self

from pytest_browsereval.local_server import LocalHandler, LocalServer
from tests.api_servers import Body, MessagesServer, message, use, uses
from tests.responses_server import ResponsesServer, function_call, response

INPUT_TOKENS, CACHED_TOKENS, OUTPUT_TOKENS = 100, 40, 10
"""What each reply says that it has used; those of a cache are part of the input."""
LAST_WORDS = "That is all."
CODE_TOOL = "functions.exec"
"""Runs JavaScript that calls the other tools: Codex gives its models no other."""


@dataclass
class Asked:
    """A request for a reply."""

    wire: str
    body: Body

    @property
    def tools(self) -> list[str]:
        """The names of all tools that are offered, those of the program's and of the provider's included."""
        items = self.body["input"] if self.wire == "responses" else ()
        more = [tool for item in items if item["type"] == "additional_tools" for tool in item["tools"]]
        return [name for tool in (*self.body.get("tools", ()), *more) for name in _names_of(tool)]

    @property
    def nested(self) -> list[str]:
        """The names of tools that code has found, where a model calls them from code."""
        found = re.findall(r"TOOLS ([\w ]+) END", json.dumps(self.body))
        return [name for names in found for name in names.split()]

    @property
    def results(self) -> int:
        """How many calls have been answered."""
        text = json.dumps(self.body)
        return max(text.count(f'"{kind}"') for kind in _RESULTS[self.wire])


OURS = frozenset({"fill", "click", "screenshot", "done"})
"""Those of our tools that solutions call."""
_RESULTS = {
    "messages": ("tool_result",),
    "responses": ("function_call_output", "custom_tool_call_output"),
    "chat": ("tool_call_id",),
    "gemini": ("functionResponse",),
}


def _names_of(tool: Body) -> Iterator[str]:
    """Yield the names in one entry of a request's tools, in the form of any of the wires."""
    if "functionDeclarations" in tool:
        yield from (each["name"] for each in tool["functionDeclarations"])
    elif tool.get("type") == "namespace":
        yield from (f"{tool['name']}.{each['name']}" for each in tool["tools"])
    elif "function" in tool:
        yield str(tool["function"]["name"])
    else:
        yield str(tool.get("name") or tool.get("type") or tool)


def _code_for(tool: str, arguments: Body) -> str:
    """Return code that calls a tool, and tells the names of all tools that code can call."""
    call = f"await tools[{json.dumps(f'mcp__browser__{tool}')}]({json.dumps(arguments)})"
    return f"text({call}); text(['TOOLS', ...ALL_TOOLS.map(t => t.name), 'END'].join(' '))"


@dataclass
class ModelServer:
    """Calls the tools that steps name, in turn, by the names that the program gives them.

    It keeps no state: the number of results in a request tells which step comes next.
    """

    steps: Sequence[Body]
    """Calls of tools: ``{"tool": NAME, ...}``; a name that is not offered is called as it is."""
    status: int = 200
    """What is answered to each request."""
    asked: list[Asked] = field(default_factory=list)

    def __enter__(self) -> Self:
        model = self

        class Handler(LocalHandler):
            def do_HEAD(self) -> None:
                self.send(200, "text/plain", b"")

            def do_GET(self) -> None:
                # Codex asks for a WebSocket first, and takes this for a no.
                self.send(426 if "Upgrade" in self.headers else 404, "application/json", b"{}")

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers.get("content-length") or 0)) or b"{}")
                model._answer(self, body)

        self._server = LocalServer(Handler).start()
        self.url = self._server.url
        return self

    def __exit__(self, *_: object) -> None:
        self._server.close()

    def _answer(self, handler: LocalHandler, body: Body) -> None:
        path = handler.path.partition("?")[0]
        ends = {"/messages": "messages", "/responses": "responses", "/chat/completions": "chat"}
        wire = next((wire for end, wire in ends.items() if path.endswith(end)), "")
        wire = "gemini" if "GenerateContent" in path or "generateContent" in path else wire
        if not wire:
            handler.send(404, "application/json", b"{}")
            return
        asked = Asked(wire, body)
        self.asked.append(asked)
        if self.status != 200:
            kind, told = ("authentication_error", "invalid x-api-key")
            if self.status != 401:
                kind, told = ("overloaded_error", "overloaded")
            error = {"type": kind, "message": told, "code": self.status}
            text = json.dumps({"type": "error", "error": error})
            # Qwen Code waits for 90 s otherwise before it says anything.
            handler.send(self.status, "application/json", text.encode(), {"Retry-After": "1"})
            return
        reply = getattr(self, f"_{wire}")(self._next(asked))
        is_streamed = body.get("stream") or "streamGenerateContent" in path
        if not is_streamed:
            handler.send(200, "application/json", json.dumps(reply[0]).encode())
            return
        lines = "".join(
            f"{'event: ' + event['type'] + chr(10) if 'type' in event else ''}data: {json.dumps(event)}\n\n"
            for event in reply[1]
        )
        end = "data: [DONE]\n\n" if wire == "chat" else ""
        handler.send(200, "text/event-stream", (lines + end).encode())

    def _next(self, asked: Asked) -> tuple[str, str, Body] | None:
        """Return id, name and arguments of the next call; None if the steps are over."""
        if not asked.tools or asked.results >= len(self.steps):
            return None
        step = dict(self.steps[asked.results])
        tool = step.pop("tool")
        name = next((each for each in asked.tools if each.endswith((f"_{tool}", f".{tool}"))), tool)
        if name == tool and tool in OURS and CODE_TOOL in asked.tools:
            return f"call_{asked.results + 1}", CODE_TOOL, {"code": _code_for(tool, step)}
        return f"call_{asked.results + 1}", name, step

    # -- a reply of each wire: whole, and as its events

    def _messages(self, call: tuple[str, str, Body] | None) -> tuple[Body, list[Body]]:
        usage = {
            "input_tokens": INPUT_TOKENS - CACHED_TOKENS,
            "cache_read_input_tokens": CACHED_TOKENS,
            "cache_creation_input_tokens": 0,
            "output_tokens": OUTPUT_TOKENS,
        }
        body = uses(use(call[1], call[0], **call[2])) if call else message(LAST_WORDS)
        body = {**body, "usage": usage}
        return body, MessagesServer(()).stream(body)

    def _responses(self, call: tuple[str, str, Body] | None) -> tuple[Body, list[Body]]:
        item: Body | str = LAST_WORDS
        if call:
            space, _, tool = call[1].rpartition(".")
            item = function_call(tool, call[0], **call[2])
            if call[1] == CODE_TOOL:
                head = {"id": item["id"], "type": "custom_tool_call", "status": "completed"}
                item = {**head, "call_id": call[0], "name": tool, "input": call[2]["code"]}
            if space:
                item["namespace"] = space
        body = response(item)
        return body, ResponsesServer(()).stream(body)

    def _chat(self, call: tuple[str, str, Body] | None) -> tuple[Body, list[Body]]:
        head = {"id": "c-1", "created": 1, "model": "m"}
        said: Body = {"role": "assistant", "content": LAST_WORDS}
        if call:
            function = {"name": call[1], "arguments": json.dumps(call[2])}
            said = {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"index": 0, "id": call[0], "type": "function", "function": function}],
            }
        end = "tool_calls" if call else "stop"
        usage = {
            "prompt_tokens": INPUT_TOKENS,
            "completion_tokens": OUTPUT_TOKENS,
            "total_tokens": INPUT_TOKENS + OUTPUT_TOKENS,
            "prompt_tokens_details": {"cached_tokens": CACHED_TOKENS},
        }
        whole = {
            **head,
            "object": "chat.completion",
            "choices": [{"index": 0, "message": said, "finish_reason": end}],
            "usage": usage,
        }
        chunk = {**head, "object": "chat.completion.chunk"}
        events: list[Body] = [
            {**chunk, "choices": [{"index": 0, "delta": said, "finish_reason": None}]},
            {**chunk, "choices": [{"index": 0, "delta": {}, "finish_reason": end}]},
            {**chunk, "choices": [], "usage": usage},
        ]
        return whole, events

    def _gemini(self, call: tuple[str, str, Body] | None) -> tuple[Body, list[Body]]:
        part = {"functionCall": {"name": call[1], "args": call[2]}} if call else {"text": LAST_WORDS}
        usage = {
            "promptTokenCount": INPUT_TOKENS,
            "cachedContentTokenCount": CACHED_TOKENS,
            "candidatesTokenCount": OUTPUT_TOKENS,
            "totalTokenCount": INPUT_TOKENS + OUTPUT_TOKENS,
        }
        candidate = {"content": {"role": "model", "parts": [part]}, "index": 0, "finishReason": "STOP"}
        body = {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "m"}
        return body, [body]
