"""Spans of an instrumented program join the trace of an attempt."""

from __future__ import annotations

import pytest

from tests.features.otel.receiver import Receiver
from tests.hooks.small_evals import Evals, row

PROGRAM = """
import os
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

parent = TraceContextTextMapPropagator().extract({"traceparent": os.environ["TRACEPARENT"]})
provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(OTLPSpanExporter()))
with provider.get_tracer("mine").start_as_current_span("chat mine", parent):
    print("right")
"""


def test_spans_of_a_program_join_its_attempt(
    evals: Evals, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The program sends its own while it works; at the end the session sends the span above them."""
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", receiver.url)
    (evals.path / "instrumented.py").write_text(PROGRAM)
    program = {
        "type": "command",
        "command": ["{python}", "instrumented.py"],
        "mcp": "off",
        "answer": "stdout",
    }
    evals.write_rows(row("a", says=None))
    evals.write_config(agent={**program, "pass_env": ["OTEL_EXPORTER_OTLP_ENDPOINT"]}, export=["otel"])
    assert evals.run("shop.eval.yaml").ret == pytest.ExitCode.OK
    theirs, ours = receiver.spans
    assert (theirs.name, ours.name) == ("chat mine", "invoke_agent command")
    assert (theirs.trace_id, theirs.parent_span_id) == (ours.trace_id, ours.span_id)
    assert ours.start_time_unix_nano <= theirs.start_time_unix_nano
    assert theirs.end_time_unix_nano <= ours.end_time_unix_nano
