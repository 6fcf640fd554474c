"""Model servers that answer with what they should not: errored by *provider* or judged, in bounded time."""

from __future__ import annotations

import gzip
import json
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from pytest_browsereval.local_server import LocalHandler, LocalServer
from pytest_browsereval.testing import EvalRun
from tests.hooks.small_evals import Evals, row

pytestmark = pytest.mark.adversary

KEY = "sk-adversary-0123456789"
Answer = Callable[["Server", LocalHandler], None]


class Server:
    """A chat-completions endpoint that answers each request in the same bad way."""

    def __init__(self, answer: Answer) -> None:
        self.requests: list[tuple[str, str, bytes]] = []
        """Path, key and body of each request."""
        self.is_closing = threading.Event()
        server = self

        class Endpoint(LocalHandler):
            def do_POST(self) -> None:
                length = int(self.headers.get("Content-Length") or 0)
                key = self.headers.get("Authorization") or ""
                server.requests.append((self.path, key, self.rfile.read(length)))
                try:
                    answer(server, self)
                except OSError:
                    self.close_connection = True  # the client has had enough

        self._server = LocalServer(Endpoint).start()
        self.url = f"{self._server.url}/v1"

    def close(self) -> None:
        self.is_closing.set()
        self._server.close()


@pytest.fixture
def start() -> Iterator[Callable[[Answer], Server]]:
    """Start servers; they end with the test."""
    servers: list[Server] = []

    def made(answer: Answer) -> Server:
        servers.append(Server(answer))
        return servers[-1]

    yield made
    for server in servers:
        server.close()


def send(handler: LocalHandler, body: bytes, *, status: int = 200, **headers: str) -> None:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    handler.send(status, "application/json", body, named)


def completion(message: dict[str, Any], **more: Any) -> dict[str, Any]:
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": "stop"}
    head = {"id": "1", "object": "chat.completion", "created": 1, "model": "m"}
    return {**head, "choices": [choice], "usage": usage, **more}


def body(message: dict[str, Any], **more: Any) -> Answer:
    data = json.dumps(completion(message, **more)).encode()
    return lambda _, handler: send(handler, data)


def raw(data: bytes, encoding: str = "identity") -> Answer:
    return lambda _, handler: send(handler, data, Content_Encoding=encoding)


def calling(*calls: tuple[str, str], ids: str = "c{}") -> dict[str, Any]:
    made = [
        {"id": ids.format(n), "type": "function", "function": {"name": name, "arguments": text}}
        for n, (name, text) in enumerate(calls)
    ]
    return {"content": None, "tool_calls": made}


def without_end(chunk: bytes, *, pause_s: float) -> Answer:
    """Return an answer that never ends: headers, then chunks."""

    def answer(server: Server, handler: LocalHandler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Type", "application/json")
        handler.end_headers()
        while not server.is_closing.wait(pause_s):
            handler.wfile.write(chunk)

    return answer


def reset(_: Server, handler: LocalHandler) -> None:
    handler.connection.close()


def bomb(server: Server, handler: LocalHandler) -> None:
    raw(gzip.compress(b" " * 300_000_000, 1), "gzip")(server, handler)


DEEP = b"[" * 200_000
ANSWERS: dict[str, Answer] = {
    "silence": without_end(b"", pause_s=0.05),
    "drip": without_end(b" ", pause_s=0.05),
    "flood": without_end(b"x" * 65536, pause_s=0),
    "bomb": bomb,
    "not-json": raw(b"<html>busy</html>"),
    "not-utf8": raw(b'{"choices": "\xff\xfe"}'),
    "deep": raw(DEEP),
    "choices-of-numbers": raw(b'{"choices": [5]}'),
    "reset": reset,
    "400": lambda _, handler: send(handler, b'{"error": "\x1b[2J\\u001b]0;x\\u0007"}', status=400),
    "500": lambda _, handler: send(handler, b"\x1b[2Jbusy", status=500),
    "later": lambda _, handler: send(handler, b"", status=429, Retry_After="1e300"),
    "nan": raw(json.dumps(completion({"content": "wrong"})).replace("1", "NaN").encode()),
    "tokens": raw(
        json.dumps(completion({"content": "x"}))
        .replace('"completion_tokens": 1', f'"completion_tokens": {"9" * 400}')
        .encode()
    ),
    "surrogate": body({"content": "\ud800 wrong \udfff"}),
    "huge-answer": body({"content": "x" * 30_000_000}),
    "calls-5000": body(calling(*[("list_tabs", "{}")] * 5000)),
    "same-ids": body(calling(("list_tabs", "{}"), ("done", '{"answer": "x"}'), ids="same")),
    "odd-names": body(calling(("../../etc", "{}"), ("\x1b[2J", "{}"), ("", "{}"), ("done\n", "{}"))),
    "deep-arguments": body(calling(("done", "[" * 100_000))),
    "huge-arguments": body(calling(("done", json.dumps({"answer": "x" * 10_000_000})))),
    "nan-arguments": body(calling(("done", '{"answer": NaN}'))),
}
"""None of them says the right answer where an answer can be read."""


ENDLESS = ("silence", "drip")
"""They take all the time that there is."""


def ask(evals: Evals, server: Server, timeout_ms: int = 8000) -> EvalRun:
    """Run a row whose agent asks a server; it fails or is errored."""
    agent = {"type": "single", "model": "m", "base_url": server.url, "api_key": KEY, "max_tries": 1}
    evals.write_rows(row("asks"))
    evals.write_config(agent=agent, limits={"timeout_ms": timeout_ms, "max_steps": 3}, retries=0)
    run = evals.run("shop.eval.yaml")
    assert run.ret == pytest.ExitCode.TESTS_FAILED, run.stdout
    return run


@pytest.mark.parametrize("name", ANSWERS)
def test_a_bad_reply_never_passes(evals: Evals, start: Callable[[Answer], Server], name: str) -> None:
    """It is errored by *provider* or failed, within its limits; nothing of it reaches the terminal raw."""
    run = ask(evals, start(ANSWERS[name]), 2000 if name in ENDLESS else 8000)
    attempt = run.attempt("asks")
    assert (attempt.verdict, attempt.error_source) in (("errored", "provider"), ("failed", None)), attempt
    assert run.summary["passed"] == 0
    assert "\x1b" not in run.stdout.str()
    (log,) = run.folder.rglob("messages.jsonl")
    assert max(map(len, log.read_bytes().splitlines())) < 2_500_000
    size = sum(file.stat().st_size for file in run.folder.rglob("*") if file.is_file())
    assert size < 25_000_000
    assert all(KEY not in file.read_text("utf-8", "replace") for file in run.folder.rglob("*.json*"))


def test_redirects_in_a_circle_end(evals: Evals, start: Callable[[Answer], Server]) -> None:
    """A server that sends to itself for ever is the provider's fault."""
    server = start(lambda at, handler: send(handler, b"", status=307, Location=f"{at.url}/chat/completions"))
    assert ask(evals, server).attempt("asks").error_source == "provider"
    assert len(server.requests) < 100
