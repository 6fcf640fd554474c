"""The export ``otel``, as a receiver sees it: over a real socket, decoded by OpenTelemetry's own package."""

from __future__ import annotations

import json
import shutil
import socket
from collections import Counter
from pathlib import Path

import pytest
from opentelemetry import trace
from opentelemetry.proto.trace.v1.trace_pb2 import Status

from pytest_browsereval import open_run
from pytest_browsereval.features.otel import export
from pytest_browsereval.model.spans import derive_ids
from pytest_browsereval.testing import EvalRun
from tests.exported import HAND, LEAD, SECRET_ANSWER, Figures, make_mixed_run, read_figures
from tests.features.otel.receiver import Mood, Receiver, read_attributes
from tests.hooks.small_evals import Evals


def send(evals: Evals, run: Path, url: str, *words: str) -> EvalRun:
    endpoint = f"export.endpoint={url}"
    return evals.run_command("export", str(run), "--to", "otel", "--eval-set", endpoint, *words)


def read_back(receiver: Receiver) -> Figures:
    """Return the figures of what has arrived."""
    roots, counted = receiver.roots, [one for one in receiver.roots if one["browsereval.counts"]]
    verdicts = Counter(one["browsereval.verdict"] for one in counted)
    judged = verdicts["passed"] + verdicts["failed"]
    chats = [read_attributes(span) for span in receiver.by_id.values() if span.name.startswith("chat ")]
    return Figures(
        trials=len(counted),
        passed=verdicts["passed"],
        failed=verdicts["failed"],
        errored=verdicts["errored"],
        pass_rate=verdicts["passed"] / judged,
        cost_usd=round(sum(one["browsereval.cost_usd"] for one in roots), 9),
        input_tokens=sum(one["gen_ai.usage.input_tokens"] for one in chats),
        output_tokens=sum(one["gen_ai.usage.output_tokens"] for one in chats),
        attempts=len(roots),
    )


def test_a_run_that_was_sent_twice_is_there_once(evals: Evals, mixed_run: Path, receiver: Receiver) -> None:
    """Its figures, read back from the spans, are those of `summary.json`; tokens are on both levels."""
    for _ in range(2):
        done = send(evals, mixed_run, receiver.url)
        assert done.ret == 0, done.stderr.str()
        assert done.outlines == [f"otel: 18 of 18 trials in {receiver.url}/v1/traces"]
    assert len(receiver.spans) == 2 * len(receiver.by_id)
    assert read_back(receiver) == read_figures(mixed_run)
    tokens = sum(one.get("gen_ai.usage.input_tokens", 0) for one in receiver.roots)
    assert tokens == read_figures(mixed_run).input_tokens
    run = open_run(str(mixed_run))
    traces = {span.trace_id.hex() for span in receiver.spans}
    assert traces == {derive_ids(f"shop.eval.yaml::{one.id}").trace_id for one in run.attempts}
    (resource,) = {json.dumps(one, sort_keys=True) for one in receiver.resources[:1]}
    assert json.loads(resource)["openinference.project.name"] == "shop"


def test_the_spans_of_an_attempt(evals: Evals, mixed_run: Path, receiver: Receiver) -> None:
    """Calls of models and tools are below their agent, and those of an executor below its delegation."""
    assert send(evals, mixed_run, receiver.url).ret == 0
    ids = derive_ids(f"shop.eval.yaml::shop/{mixed_run.name}/shop+2fmug/pair/1/1")
    spans = [span for span in receiver.spans if span.trace_id.hex() == ids.trace_id]
    names = {span.span_id: span.name for span in spans}
    assert sorted((names.get(span.parent_span_id, ""), span.name) for span in spans) == sorted([
        ("", "invoke_agent orchestrator-executor"),
        ("invoke_agent orchestrator-executor", f"chat {LEAD}"),
        ("invoke_agent orchestrator-executor", "invoke_agent executor"),
        ("invoke_agent executor", f"chat {HAND}"),
        ("invoke_agent executor", "execute_tool list_tabs"),
        ("invoke_agent executor", "execute_tool list_tabs"),
        ("invoke_agent executor", f"chat {HAND}"),
        ("invoke_agent executor", "execute_tool done"),
        ("invoke_agent orchestrator-executor", f"chat {LEAD}"),
        ("invoke_agent orchestrator-executor", "execute_tool done"),
    ])  # fmt: skip
    (root,) = (span for span in spans if not span.parent_span_id)
    assert root.span_id.hex() == ids.span_id
    (grade,) = root.events
    assert grade.name == "gen_ai.evaluation.result"
    assert read_attributes(grade) == {
        "gen_ai.evaluation.name": "answer",
        "gen_ai.evaluation.score.value": 1.0,
        "gen_ai.evaluation.score.label": "pass",
    }
    assert all(root.start_time_unix_nano <= one.start_time_unix_nano for one in spans)
    assert all(one.end_time_unix_nano <= root.end_time_unix_nano for one in spans)


def test_verdict_score_and_error_stay_three_things(evals: Evals, mixed_run: Path, receiver: Receiver) -> None:
    """An errored attempt has an error and no grade; the first of two does not count."""
    assert send(evals, mixed_run, receiver.url).ret == 0
    by_trial = {read_attributes(span)["gen_ai.conversation.id"]: span for span in receiver.by_id.values()
                if not span.parent_span_id}  # fmt: skip
    trial = f"shop.eval.yaml::shop/{mixed_run.name}/wrong/broken/1"
    first, second = by_trial[f"{trial}/1"], by_trial[f"{trial}/2"]
    assert [read_attributes(span)["browsereval.counts"] for span in (first, second)] == [False, True]
    assert second.status.code == Status.STATUS_CODE_ERROR
    assert read_attributes(second)["error.type"] == "agent"
    assert [event.name for event in second.events] == ["exception"]
    failed = by_trial[f"shop.eval.yaml::shop/{mixed_run.name}/wrong/plays/1/1"]
    assert failed.status.code == Status.STATUS_CODE_UNSET
    assert read_attributes(failed)["test.case.result.status"] == "fail"


def test_texts_are_sent_on_request_only(evals: Evals, mixed_run: Path, receiver: Receiver) -> None:
    """Queries, answers, results and reasons are content; those of a protected row never leave the machine."""
    assert send(evals, mixed_run, receiver.url).ret == 0
    plain = "".join(map(str, receiver.spans))
    for text in ("Look at the tabs", "One tab.", "right", "ultramarine", "the agent's own", "Say the secret"):
        assert text not in plain, text
    receiver.spans.clear()
    assert send(evals, mixed_run, receiver.url, "--eval-set=export.content=true").ret == 0
    full = "".join(map(str, receiver.spans))
    for text in ("Look at the tabs", "One tab.", "gen_ai.tool.call.result", "the agent\\'s own"):
        assert text in full, text
    assert SECRET_ANSWER not in full
    assert "Say the secret" not in full
    attributes = [read_attributes(span) for span in receiver.spans]
    said = [
        json.loads(one["gen_ai.output.messages"]) for one in attributes if "gen_ai.output.messages" in one
    ]
    calls = [part for (one,) in said for part in one["parts"] if part["type"] == "tool_call"]
    assert {"list_tabs", "done"} <= {part["name"] for part in calls}


def test_a_session_sends_at_its_end(evals: Evals, receiver: Receiver) -> None:
    """The key `export` does it; the header's value is in no file of the run."""
    block = {"type": "otel", "endpoint": receiver.url, "headers": {"x-key": "sk-very-secret-1"}}
    run = make_mixed_run(evals, export=[block])
    assert read_back(receiver) == read_figures(run)
    assert {one["x-key"] for one in receiver.headers} == {"sk-very-secret-1"}
    for file in run.rglob("*"):
        assert not file.is_file() or b"sk-very-secret-1" not in file.read_bytes(), file


ANSWERS: tuple[tuple[Mood, str, int], ...] = (
    ("silent", "no answer within 0.2 s", 2),
    ("page", "HTTP status 200, it answers with a page: this is not a trace receiver", 3),
    ("partly", "HTTP status 200, 2 spans refused: no room for [[]redacted]", 3),
    (302, "HTTP status 302, Found", 3),
    (405, "HTTP status 405, Method Not Allowed", 3),
)


def test_what_is_lost_is_said(
    evals: Evals,
    mixed_run: Path,
    receiver: Receiver,
    monkeypatch: pytest.MonkeyPatch,
    subtests: pytest.Subtests,
) -> None:
    """How much and why, and exit code 1; one that does not answer is asked once, whatever is left to send."""
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "x-key=sk-very-secret-1")
    for mood, why, most in ANSWERS:
        with subtests.test(why):
            receiver.mood = mood
            receiver.sizes.clear()
            monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "0.2" if mood == "silent" else "60")
            done = send(evals, mixed_run, receiver.url)
            assert done.ret == 1
            done.stderr.fnmatch_lines([f"lost: 24 of 24 attempts: {why}"])
            assert f"lost: shop/{mixed_run.name}/wrong/plays/2 was not sent" in done.errlines
            assert done.outlines == [f"otel: 0 of 18 trials in {receiver.url}/v1/traces"]
            assert 1 <= len(receiver.sizes) <= most
            assert "very-secret" not in done.stdout.str() + done.stderr.str()


def test_nobody_listens(evals: Evals, mixed_run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It costs no time-out for each batch, and the URL is shown without its login and its query."""
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "0.2")
    with socket.socket() as taken:  # bound, and not listening
        taken.bind(("127.0.0.1", 0))
        url = f"http://me:sk-very-secret-1@127.0.0.1:{taken.getsockname()[1]}"
        done = send(evals, mixed_run, f"{url}/?token=sk-very-secret-2")
    assert done.ret == 1
    done.stderr.fnmatch_lines(["lost: 24 of 24 attempts: it cannot be reached: Connection refused"])
    assert "very-secret" not in done.stdout.str() + done.stderr.str()


def test_the_usual_variables_hold(
    evals: Evals, mixed_run: Path, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Endpoint, headers and resource are read from the environment; a sampler leaves no attempt out."""
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"{receiver.url}/base/")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "x-key=a%20b")
    monkeypatch.setenv("OTEL_SERVICE_NAME", "mine")
    monkeypatch.setenv("OTEL_RESOURCE_ATTRIBUTES", "openinference.project.name=theirs")
    monkeypatch.setenv("OTEL_TRACES_SAMPLER", "always_off")
    done = evals.run_command("export", str(mixed_run), "--to=otel")
    assert done.outlines == [f"otel: 18 of 18 trials in {receiver.url}/base/v1/traces"], done.stderr.str()
    assert receiver.headers[0]["x-key"] == "a b"
    assert receiver.resources[0]["service.name"] == "mine"
    assert receiver.resources[0]["openinference.project.name"] == "theirs"
    assert receiver.resources[0]["browsereval.run.id"] == mixed_run.name
    monkeypatch.setenv("OTEL_SDK_DISABLED", "true")
    refused = evals.run_command("export", str(mixed_run), "--to=otel")
    assert refused.ret == 4
    assert "OTEL_SDK_DISABLED is true, so nothing would be sent" in refused.stderr.str()


def test_the_tracing_of_the_process_is_left_alone(evals: Evals, mixed_run: Path, receiver: Receiver) -> None:
    """The provider of the process stays as it was, and a span that is open there is nobody's parent."""
    before = trace.get_tracer_provider()
    own = trace.NonRecordingSpan(trace.SpanContext(1, 1, is_remote=False, trace_flags=trace.TraceFlags(1)))
    with trace.use_span(own):
        assert send(evals, mixed_run, receiver.url).ret == 0
    assert trace.get_tracer_provider() is before
    assert len(receiver.roots) == 24


def test_hostile_content(
    evals: Evals, mixed_run: Path, receiver: Receiver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Escape sequences, NaN, 10 MB and two calls of one id break nothing."""
    run = tmp_path / mixed_run.name
    shutil.copytree(mixed_run, run)
    folder = run / "tasks/shop+2fmug/plays/1/attempt-1"
    time = "2026-01-02T03:04:05Z"
    call = {"type": "tool_call", "tool": "\x1b[31mx", "toolCallId": "a/b", "params": {"n": float("nan")}}
    result = {"type": "tool_result", "toolCallId": "a/b", "result": "x" * 10_000_000, "isError": False}
    lines = [{**one, "timestamp": time} for one in (call, call, result)]
    with (folder / "messages.jsonl").open("a", encoding="utf-8") as file:
        file.writelines(f"{json.dumps(line)}\n" for line in lines)
    done = send(evals, run, receiver.url, "--eval-set=export.content=true")
    assert done.ret == 0, done.stderr.str()
    names = [span.name for span in receiver.spans]
    assert sum(name.startswith("execute_tool  [31m") for name in names) == 2
    assert len(receiver.by_id) == len(receiver.spans)


def test_what_is_missing_is_said(evals: Evals, mixed_run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With what to type."""

    def find_none(name: str) -> None:
        raise ModuleNotFoundError(name)

    monkeypatch.setattr(export, "find_spec", find_none)
    how = "the export 'otel' needs the SDK of OpenTelemetry. Run `pip install 'pytest-browsereval[[]otel]'`"
    done = evals.run_command("export", str(mixed_run), "--to=otel")
    assert done.ret == 4
    done.stderr.fnmatch_lines([f"*{how}"])
