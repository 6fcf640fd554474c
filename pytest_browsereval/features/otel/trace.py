"""The trace of an attempt, by the conventions for generative AI: agents, model calls, tools, grades.

The conventions, in status *Development*: https://github.com/open-telemetry/semantic-conventions-genai
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.sdk.resources import OTELResourceDetector, Resource
from opentelemetry.sdk.trace import ReadableSpan, Span, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.id_generator import IdGenerator
from opentelemetry.sdk.trace.sampling import ALWAYS_ON
from opentelemetry.trace import SpanKind, Status, StatusCode

from pytest_browsereval.model.derived import find_outcome
from pytest_browsereval.model.display import one_line
from pytest_browsereval.model.grades import GraderResult, Verdict
from pytest_browsereval.model.messages import ErrorMessage, UserMessage
from pytest_browsereval.model.spans import SpanIds, derive_ids, name_trace
from pytest_browsereval.redaction.text import well_formed
from pytest_browsereval.runs.attempt import StoredAttempt
from pytest_browsereval.runs.folder import read_log
from pytest_browsereval.runs.run import StoredRun
from pytest_browsereval.runs.turns import (
    Entry,
    StoredDelegation,
    StoredStep,
    StoredTurn,
    find_model,
    parse_time,
)

SERVICE = "pytest-browsereval"
LABELS = {Verdict.PASSED: "pass", Verdict.FAILED: "fail"}
"""As the conventions call a verdict; an errored one has none."""
EXECUTOR = "executor"
LONGEST_NAME = 100
"""Characters of a name that a model may have made up."""

Attributes = Mapping[str, Any]

_LARGEST = 1 << 63
"""OTLP holds no larger numbers; the record of an imported attempt may."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class _Ids(IdGenerator):
    """Gives the ids that were derived for the next span."""

    def __init__(self) -> None:
        self.next = SpanIds("", "")

    def generate_trace_id(self) -> int:
        return int(self.next.trace_id, 16)

    def generate_span_id(self) -> int:
        return int(self.next.span_id, 16)


class TraceMaker:
    """Makes the traces of a run, by a provider of its own: the process's may be the user's.

    Args:
        run: the run.
        with_content: whether texts are in the spans; those of protected rows never are.
    """

    def __init__(self, run: StoredRun, *, with_content: bool) -> None:
        self.run = run
        self.with_content = with_content
        self.damages: list[str] = []
        """What could not be read of the logs of attempts, each with the reason."""
        self.ids, self._made = _Ids(), InMemorySpanExporter()
        # All attempts: OTEL_TRACES_SAMPLER is for the user's programs, and a part has other figures.
        provider = TracerProvider(
            sampler=ALWAYS_ON, resource=_resource(run), id_generator=self.ids, shutdown_on_exit=False
        )
        provider.add_span_processor(SimpleSpanProcessor(self._made))
        self.tracer = provider.get_tracer(SERVICE)

    def make(self, attempt: StoredAttempt) -> tuple[ReadableSpan, ...]:
        """Return the spans of an attempt.

        Raises:
            UsageError: its record is damaged.
        """
        self._made.clear()
        _AttemptSpans(self, attempt).make()
        if damage := read_log(attempt.folder)[1]:
            self.damages.append(f"{attempt.query_id}: {damage}")
        return tuple(self._made.get_finished_spans())


def _resource(run: StoredRun) -> Resource:
    ours = {
        "service.name": SERVICE,
        "browsereval.run.id": run.id,
        "browsereval.eval": run.eval,
        "openinference.project.name": run.eval,
    }
    # What the user says in OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES comes before ours.
    return Resource.create({**_clean(ours), **OTELResourceDetector().detect().attributes})


class _AttemptSpans:
    """The spans of one attempt.

    Args:
        maker: has the tracer.
        attempt: the attempt.
    """

    def __init__(self, maker: TraceMaker, attempt: StoredAttempt) -> None:
        self._maker, self._attempt = maker, attempt
        self.metadata = attempt.metadata
        self.has_content = maker.with_content and not attempt.is_protected
        # The name under which it was made: with the run of its part, where that was merged.
        home, run, rest = attempt.id.split("/", 2)
        self.id = name_trace(f"{home}/{self.metadata.run_id or run}/{rest}", self.metadata.node_id)
        self._parts: set[str] = set()
        self._begin = _time(parse_time(self.metadata.started_at), 0)
        self._end = max(_time(parse_time(self.metadata.completed_at), self._begin), self._begin)

    def make(self) -> None:
        """Make all of them."""
        data = self.metadata
        provider, model = find_model(data.agent_config)
        kind = str(data.agent_config.get("type", "agent"))
        about = self._about(provider, model, kind)
        root = self._start(f"invoke_agent {kind}", None, "", self._begin, about)
        for name, grade in data.grader_results.items():
            root.add_event("gen_ai.evaluation.result", _clean(self._about_grade(name, grade)), self._end)
        self._add(self._attempt.turns, root, provider)
        if data.verdict is Verdict.ERRORED:
            root.set_status(Status(StatusCode.ERROR, self._text(data.reason)))
        root.end(self._end)

    def _about(self, provider: str | None, model: str | None, kind: str) -> Attributes:
        attempt, data = self._attempt, self.metadata
        query = [{"role": "user", "parts": [{"type": "text", "content": data.query}]}]
        answer = [_say(data.final_answer or "")]
        return {
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.provider.name": provider or SERVICE,
            "gen_ai.agent.name": kind,
            "gen_ai.conversation.id": self.id,
            "gen_ai.request.model": model,
            "gen_ai.usage.input_tokens": data.usage.input_tokens or None,
            "gen_ai.usage.output_tokens": data.usage.output_tokens or None,
            "gen_ai.usage.cache_read.input_tokens": data.usage.cache_read_tokens or None,
            "gen_ai.usage.cache_creation.input_tokens": data.usage.cache_write_tokens or None,
            "gen_ai.input.messages": self._json(query),
            "gen_ai.output.messages": self._json(answer) if data.final_answer is not None else None,
            "error.type": data.error_source,
            "browsereval.run.id": attempt.run.id,
            "browsereval.eval": attempt.run.eval,
            "browsereval.task.id": attempt.query_id,
            "browsereval.variant": attempt.variant,
            "browsereval.trial": attempt.trial,
            "browsereval.attempt": attempt.number,
            "browsereval.counts": attempt.counts,
            "browsereval.verdict": data.verdict,
            "browsereval.reason": self._text(data.reason),
            "browsereval.cost_usd": data.cost_usd,
            "browsereval.steps": data.total_steps,
            "browsereval.attack": data.derived and data.derived.name,
            "browsereval.attack.outcome": find_outcome(data),
            "test.case.name": data.node_id or None,
            "test.case.result.status": LABELS.get(data.verdict),
        }

    def _about_grade(self, name: str, grade: GraderResult) -> Attributes:
        return {
            "gen_ai.evaluation.name": name,
            "gen_ai.evaluation.score.value": grade.score,
            "gen_ai.evaluation.score.label": LABELS.get(grade.verdict),
            "gen_ai.evaluation.explanation": self._text(grade.reasoning),
            "error.type": "grader" if grade.verdict is Verdict.ERRORED else None,
            "browsereval.advisory": grade.advisory or None,
        }

    # -- what happened

    def _add(self, entries: Iterable[Entry], parent: Span, provider: str | None) -> None:
        for entry in entries:
            if isinstance(entry, StoredTurn):
                if entry.reply is not None:
                    self._add_turn(entry, parent, provider)
                for act in entry.acts:
                    if isinstance(act, StoredStep):
                        self._add_step(act, parent)
                    else:
                        self._add_delegation(act, parent, entry.provider or provider)
            elif isinstance(entry, ErrorMessage):
                about = {"exception.type": entry.error_code or "error"}
                about |= {"exception.message": entry.content} if self.has_content else {}
                when = _time(parse_time(entry.timestamp), self._end)
                parent.add_event("exception", _clean(about), when)
            else:
                assert isinstance(entry, UserMessage)  # noqa: S101 the query, which the root has

    def _add_turn(self, turn: StoredTurn, parent: Span, provider: str | None) -> None:
        reply = turn.reply
        assert reply is not None  # noqa: S101 asked by the caller
        usage = reply.usage
        about = {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": turn.provider or provider or SERVICE,
            "gen_ai.request.model": turn.model,
            "gen_ai.usage.input_tokens": usage and usage.input_tokens,
            "gen_ai.usage.output_tokens": usage and usage.output_tokens,
            "gen_ai.usage.cache_read.input_tokens": (usage and usage.cache_read_tokens) or None,
            "gen_ai.usage.cache_creation.input_tokens": (usage and usage.cache_write_tokens) or None,
            "gen_ai.output.messages": self._json([_say(reply.content, turn.steps)]),
            "browsereval.cost_usd": usage and usage.cost_usd,
        }
        begin, end = _time(turn.started_at, self._begin), _time(turn.ended_at, self._end)
        name = f"chat {turn.model}" if turn.model else "chat"
        span = self._start(name, parent, f"turn/{turn.number}", begin, about, kind=SpanKind.CLIENT)
        span.end(max(begin, end))

    def _add_step(self, step: StoredStep, parent: Span) -> None:
        tool = one_line(step.call.tool, LONGEST_NAME)
        is_error = step.result is None or step.result.is_error
        about = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": tool,
            "gen_ai.tool.type": "function",
            "gen_ai.tool.call.id": step.call.tool_call_id,
            "gen_ai.tool.call.arguments": self._json(step.call.params),
            "gen_ai.tool.call.result": self._text(step.output),
            "error.type": "tool_error" if is_error else None,
            "browsereval.step": step.number,
            "browsereval.url": self._text(step.result.url) if step.result and step.result.url else None,
        }
        begin = _time(step.started_at, self._begin)
        span = self._start(f"execute_tool {tool}", parent, f"call/{step.call.tool_call_id}", begin, about)
        if is_error:
            span.set_status(Status(StatusCode.ERROR))
        span.end(max(begin, _time(step.ended_at, self._end)))

    def _add_delegation(self, part: StoredDelegation, parent: Span, provider: str | None) -> None:
        own, model = find_model(self.metadata.agent_config, is_executor=True)
        goal = [{"role": "user", "parts": [{"type": "text", "content": part.goal.instruction}]}]
        status = part.report.status if part.report else None
        about = {
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.provider.name": own or provider or SERVICE,
            "gen_ai.agent.name": EXECUTOR,
            "gen_ai.agent.id": part.goal.executor_id,
            "gen_ai.request.model": model,
            "gen_ai.input.messages": self._json(goal),
            "gen_ai.output.messages": self._json([_say(part.report.summary)]) if part.report else None,
            "browsereval.delegation.status": status,
        }
        begin = _time(part.started_at, self._begin)
        span = self._start(f"invoke_agent {EXECUTOR}", parent, f"delegation/{part.id}", begin, about)
        self._add(part.turns, span, own or provider)
        span.end(max(begin, _time(part.ended_at, self._end)))

    # -- spans

    def _start(
        self,
        name: str,
        parent: Span | None,
        part: str,
        begin: int,
        about: Attributes,
        *,
        kind: SpanKind = SpanKind.INTERNAL,
    ) -> Span:
        unique, again = part, 1
        while unique in self._parts:  # a damaged or foreign log may name two calls alike
            again += 1
            unique = f"{part}/{again}"
        self._parts.add(unique)
        self._maker.ids.next = derive_ids(self.id, unique)
        # Without a parent of ours there is none: the user may have a span open here.
        context = Context() if parent is None else trace.set_span_in_context(parent, Context())
        span = self._maker.tracer.start_span(
            one_line(well_formed(name), 2 * LONGEST_NAME),
            context,
            attributes=_clean(about),
            start_time=begin,
            kind=kind,
        )
        assert isinstance(span, Span)  # noqa: S101 all are sampled
        return span

    def _text(self, text: str) -> str | None:
        return text if self.has_content and text else None

    def _json(self, value: Any) -> str | None:
        return json.dumps(value, ensure_ascii=False, default=str) if self.has_content else None


def _clean(about: Attributes) -> dict[str, Any]:
    """Return attributes without those that are not known, with texts that can be sent."""
    safe = {name: _safe(value) for name, value in about.items()}
    return {name: value for name, value in safe.items() if value is not None}


def _safe(value: Any) -> Any:
    if isinstance(value, str):
        return well_formed(str.__str__(value))
    if isinstance(value, int) and not -_LARGEST <= value < _LARGEST:
        return None
    return tuple(map(_safe, value)) if isinstance(value, tuple) else value


def _say(text: str, steps: Iterable[StoredStep] = ()) -> dict[str, Any]:
    parts: list[dict[str, Any]] = [{"type": "text", "content": text}] if text else []
    for call in (step.call for step in steps):
        about = {"id": call.tool_call_id, "name": call.tool, "arguments": call.params}
        parts.append({"type": "tool_call", **about})
    finish = "tool_calls" if any(steps) else "stop"
    return {"role": "assistant", "parts": parts, "finish_reason": finish}


def _time(moment: datetime | None, otherwise: int) -> int:
    """Return nanoseconds since 1970."""
    return otherwise if moment is None else max(0, (moment - _EPOCH) // timedelta(microseconds=1) * 1000)
