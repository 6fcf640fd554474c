"""Model servers that answer with what they should not: errored by *provider* or judged, in bounded time."""

from __future__ import annotations

import gzip
import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from tests.hooks.small_evals import Evals, row

pytestmark = pytest.mark.adversary

KEY = "sk-adversary-0123456789"
Handler = BaseHTTPRequestHandler
Answer = Callable[["Server", Handler], None]


class Server:
    """A chat-completions endpoint that answers each request in the same bad way."""

    def __init__(self, answer: Answer) -> None:
        self.requests: list[tuple[str, str, bytes]] = []
        """Path, key and body of each request."""
        self.is_closing = threading.Event()
        server = self

        class Endpoint(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                length = int(self.headers.get("Content-Length") or 0)
                key = self.headers.get("Authorization") or ""
                server.requests.append((self.path, key, self.rfile.read(length)))
                try:
                    answer(server, self)
                except OSError:
                    self.close_connection = True  # the client has had enough

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
                """Stay silent."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Endpoint)
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()

    def close(self) -> None:
        self.is_closing.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


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


def send(handler: Handler, body: bytes, *, status: int = 200, **headers: str) -> None:
    handler.send_response(status)
    given = {"Content-Type": "application/json", "Content-Length": str(len(body)), **headers}
    for name, value in given.items():
        handler.send_header(name.replace("_", "-"), value)
    handler.end_headers()
    handler.wfile.write(body)


def completion(message: dict[str, Any], **more: Any) -> dict[str, Any]:
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": "stop"}
    return {
        "id": "1",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "choices": [choice],
        "usage": usage,
        **more,
    }


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

    def answer(server: Server, handler: Handler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Type", "application/json")
        handler.end_headers()
        while not server.is_closing.wait(pause_s):
            handler.wfile.write(chunk)

    return answer


def reset(_: Server, handler: Handler) -> None:
    handler.connection.close()


def bomb(server: Server, handler: Handler) -> None:
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
    "empty": raw(b""),
    "null": raw(b"null"),
    "list": raw(b"[1, 2]"),
    "no-choices": raw(b'{"choices": []}'),
    "choices-of-numbers": raw(b'{"choices": [5]}'),
    "half": lambda _, handler: send(handler, b'{"choices"', Content_Length="100000"),
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


@pytest.mark.parametrize("name", ANSWERS)
def test_a_bad_reply_never_passes(evals: Evals, start: Callable[[Answer], Server], name: str) -> None:
    """It is errored by *provider* or failed, within its limits; nothing of it reaches the terminal raw."""
    server = start(ANSWERS[name])
    evals.write_rows(row("asks"))
    evals.write_config(
        agent={"type": "single", "model": "m", "base_url": server.url, "api_key": KEY, "max_tries": 1},
        limits={"timeout_ms": 2000 if name in ENDLESS else 8000, "max_steps": 3},
        retries=0,
    )
    run = evals.run("shop.eval.yaml")
    assert run.ret == pytest.ExitCode.TESTS_FAILED, run.stdout
    attempt = run.attempt("asks")
    assert (attempt.verdict, attempt.error_source) in (("errored", "provider"), ("failed", None)), attempt
    assert run.summary["passed"] == 0
    assert "\x1b" not in run.stdout.str()
    (log,) = run.folder.rglob("messages.jsonl")
    assert max(map(len, log.read_bytes().splitlines())) < 2_500_000
    size = sum(file.stat().st_size for file in run.folder.rglob("*") if file.is_file())
    assert size < 25_000_000
    assert all(KEY not in file.read_text("utf-8", "replace") for file in run.folder.rglob("*.json*"))


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_to_another_host_is_not_followed(
    evals: Evals, start: Callable[[Answer], Server], status: int
) -> None:
    """Neither prompt nor key go there, and its answer is not believed."""
    other = start(body({"content": "right"}))
    location = other.url.replace("127.0.0.1", "localhost") + "/chat/completions"
    server = start(lambda _, handler: send(handler, b"", status=status, Location=location))
    evals.write_rows(row("asks"))
    evals.write_config(
        agent={"type": "single", "model": "m", "base_url": server.url, "api_key": KEY, "max_tries": 1},
        retries=0,
    )
    run = evals.run("shop.eval.yaml")
    assert run.ret == pytest.ExitCode.TESTS_FAILED, run.stdout
    assert run.attempt("asks").error_source == "provider"
    assert other.requests == []


def test_redirects_in_a_circle_end(evals: Evals, start: Callable[[Answer], Server]) -> None:
    """A server that sends to itself for ever is the provider's fault."""
    server = start(lambda at, handler: send(handler, b"", status=307, Location=f"{at.url}/chat/completions"))
    evals.write_rows(row("asks"))
    evals.write_config(
        agent={"type": "single", "model": "m", "base_url": server.url, "max_tries": 1}, retries=0
    )
    run = evals.run("shop.eval.yaml")
    assert run.attempt("asks").error_source == "provider"
    assert len(server.requests) < 100
