"""Spans of an instrumented program join the trace of an attempt."""

from __future__ import annotations

import pytest

from pytest_browsereval import AgentContext, open_run
from pytest_browsereval.model.spans import current_ids
from tests.features.otel.receiver import Receiver, read_attributes
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


async def say_parent(context: AgentContext) -> str:
    """Answer with what a program would get as TRACEPARENT."""
    ids = current_ids()
    assert ids is not None
    return ids.traceparent


OWN_AGENT = {"type": "function", "function": f"{__name__}:say_parent"}


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


def test_evals_of_one_name_in_one_session_have_traces_of_their_own(
    evals: Evals, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their runs have one id; the traces differ, as an agent learns them and as they are sent, twice too."""
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", receiver.url)
    files = ("shop.eval.yaml", "below/shop.eval.yaml")
    evals.write_rows(row("a", says=None))
    for file in files:
        rows = str(evals.path / "rows.jsonl")
        evals.write_config(file, dataset=rows, agent=OWN_AGENT, export=["otel"])
    done = evals.run(*files)
    assert done.ret == pytest.ExitCode.TESTS_FAILED, done.stderr.str()  # what it says is no answer
    runs = [open_run(one) for one in sorted(evals.path.rglob("results/shop/2*"))]
    assert len({run.folder for run in runs}) == 2
    assert len({run.id for run in runs}) == 1
    learned = {one.metadata.final_answer for run in runs for one in run.attempts}
    for run in (None, *runs):
        if run is not None:
            assert evals.run_command("export", str(run.folder), "--to", "otel").ret == 0
        sent = {
            f"00-{span.trace_id.hex()}-{span.span_id.hex()}-01": read_attributes(span)
            for span in receiver.spans
        }
        assert set(sent) == learned
        assert {one["gen_ai.conversation.id"] for one in sent.values()} == {
            f"{file}::shop/{runs[0].id}/a/default/1/1" for file in files
        }
    assert len(receiver.spans) == 4
