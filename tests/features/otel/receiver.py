"""A receiver of traces over a real socket: takes what OTLP sends."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any, Literal

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from opentelemetry.proto.common.v1.common_pb2 import AnyValue
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from pytest_browsereval.local_server import LocalHandler, LocalServer

PROTOBUF = "application/x-protobuf"
Mood = Literal["well", "silent", "page", "partly"] | int
"""How it answers; a number is a status."""


def read_value(value: AnyValue) -> Any:
    """Return an attribute's value."""
    kind = value.WhichOneof("value")
    if kind == "array_value":
        return [read_value(one) for one in value.array_value.values]
    return None if kind is None else getattr(value, kind)


def read_attributes(span: Any) -> dict[str, Any]:
    """Return the attributes of a span, an event, a link or a resource."""
    return {one.key: read_value(one.value) for one in span.attributes}


class Receiver:
    """What has arrived."""

    def __init__(self) -> None:
        self.mood: Mood = "well"
        self.spans: list[Span] = []
        self.resources: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.sizes: list[int] = []
        """Bytes of each request."""
        self.url = ""
        self.over = threading.Event()

    def take(self, body: bytes) -> None:
        """Take a request by OTLP."""
        for one in ExportTraceServiceRequest.FromString(body).resource_spans:
            self.resources.append(read_attributes(one.resource))
            self.spans += [span for scope in one.scope_spans for span in scope.spans]

    @property
    def by_id(self) -> dict[bytes, Span]:
        """The spans by their ids: one that was sent again takes the place of the earlier one."""
        return {span.span_id: span for span in self.spans}

    @property
    def roots(self) -> list[dict[str, Any]]:
        """Attributes of the attempts' spans."""
        return [read_attributes(span) for span in self.by_id.values() if not span.parent_span_id]


@contextmanager
def receiving() -> Iterator[Receiver]:
    """Run a receiver."""
    receiver = Receiver()

    class Handler(LocalHandler):
        def _serve(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            receiver.headers.append({name.lower(): value for name, value in self.headers.items()})
            receiver.sizes.append(len(body))
            mood = receiver.mood
            if mood == "silent":
                receiver.over.wait()
            elif isinstance(mood, int):
                self.send(mood, PROTOBUF, b"", {"Location": "/login"} if 300 <= mood < 400 else {})
            elif mood == "page":
                self.send(200, "text/html; charset=utf-8", b"<h1>Hello</h1>")
            elif not self.path.endswith("/v1/traces"):
                self.send(404, PROTOBUF, b"")
            elif mood == "partly":
                answer = ExportTraceServiceResponse()
                answer.partial_success.rejected_spans = 2
                answer.partial_success.error_message = f"no room for {self.headers['x-key']}"
                self.send(200, PROTOBUF, answer.SerializeToString())
            else:
                receiver.take(body)
                self.send(200, PROTOBUF, b"")

        do_POST = do_GET = _serve

    with closing(LocalServer(Handler).start()) as server:
        receiver.url = server.url
        try:
            yield receiver
        finally:
            receiver.over.set()
