"""An attempt as a document of ATIF v1.7, which the models of NVIDIA's toolkit and of Harbor both accept."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import version
from pathlib import PurePosixPath
from typing import Any

from pytest_browsereval.features.shared.export_record import (
    DELEGATE,
    MEDIA,
    OURS,
    UniqueNames,
    clean_json,
    describe_record,
)
from pytest_browsereval.model.derived import find_outcome
from pytest_browsereval.model.messages import AssistantMessage, ErrorMessage
from pytest_browsereval.model.results import TaskMetadata
from pytest_browsereval.redaction.marks import WITHHELD
from pytest_browsereval.runs.attempt import StoredAttempt
from pytest_browsereval.runs.turns import (
    Entry,
    StoredDelegation,
    StoredStep,
    StoredTurn,
    find_model,
    parse_time,
)

SCHEMA = "ATIF-v1.7"

Block = dict[str, Any]


def make_trajectory(attempt: StoredAttempt, record: TaskMetadata, pictures: Mapping[int, str]) -> Block:
    """Return the document of an attempt.

    Args:
        attempt: the attempt.
        record: of it. If texts are withheld from it, so are messages.
        pictures: where pictures are, relative to the document, by their numbers.
    """
    is_withheld = record.query == WITHHELD
    part = _Part(attempt.id, attempt.run.id, record.agent_config, pictures)
    for entry in () if is_withheld else attempt.turns:
        part.add(entry)
    usage = record.usage
    metrics = {
        "total_prompt_tokens": usage.input_tokens,
        "total_completion_tokens": usage.output_tokens,
        "total_cached_tokens": usage.cache_read_tokens,
        "total_cost_usd": record.cost_usd,
        "extra": {"tool_calls": record.total_steps, "duration_ms": record.total_duration_ms},
    }
    extra = {
        # Three things: a score says nothing of an attempt that broke, and is never made of a verdict.
        "verdict": str(record.verdict),
        "scores": {name: grade.score for name, grade in record.grader_results.items()},
        "error": record.error_source and {"source": str(record.error_source), "message": record.reason},
        "task": record.query_id,
        "attack": record.derived and {"name": record.derived.name, "outcome": find_outcome(record)},
        "counts": attempt.counts,
        OURS: describe_record(record, counts=attempt.counts),
    }
    whole = part.document(record.query, variant=record.variant)
    document: Block = clean_json({**whole, "final_metrics": _known(metrics), "extra": extra})
    return document


class _Part:
    """A trajectory: of the agent, or of an executor in one delegation.

    Args:
        name: its id, unique in the run.
        session: the run.
        agent: the block of the agent, also in the part of an executor.
        pictures: where pictures are.
    """

    def __init__(
        self,
        name: str,
        session: str,
        agent: Mapping[str, Any],
        pictures: Mapping[int, str],
        executor: str | None = None,
    ) -> None:
        self._name, self._session, self._agent, self._pictures = name, session, agent, pictures
        self._executor = executor
        self._steps: list[Block] = []
        self._parts: list[Block] = []
        self._ids = UniqueNames()

    def document(self, start: str, **more: Any) -> Block:
        """Return it; one without a step begins with the text, since it has to have one."""
        if not self._steps:
            self._step("user", start, "")
        is_executor = self._executor is not None
        given = self._agent.get("executor") if is_executor else self._agent
        block: Mapping[str, Any] = given if isinstance(given, Mapping) else {}
        provider, model = find_model(self._agent, is_executor=is_executor)
        agent = {
            "name": str(block.get("type") or ("executor" if is_executor else "unknown")),
            "version": version("pytest-browsereval"),
            "model_name": model,
            "extra": _known({"provider": provider, "executor_id": self._executor, **more}) or None,
        }
        return {
            "schema_version": SCHEMA,
            "session_id": self._session,
            "trajectory_id": self._name,
            "agent": _known(agent),
            "steps": self._steps,
            **({"subagent_trajectories": self._parts} if self._parts else {}),
        }

    def add(self, entry: Entry) -> None:
        """Add a turn, something that the agent was given to read, or something that broke."""
        if isinstance(entry, StoredTurn):
            self._add_turn(entry)
        elif isinstance(entry, ErrorMessage):
            extra = {"is_error": True, "error_code": entry.error_code}
            self._step("system", entry.content, entry.timestamp, extra=_known(extra))
        else:
            self._step("user", entry.content, entry.timestamp)

    def _step(self, source: str, message: str, timestamp: str, **more: Any) -> None:
        known = timestamp if parse_time(timestamp) else None
        step = {"step_id": len(self._steps) + 1, "timestamp": known, "source": source, "message": message}
        self._steps.append(_known({**step, **more}))

    def _add_turn(self, turn: StoredTurn) -> None:
        reply = turn.reply
        calls, results = [], []
        for act in turn.acts:
            call, result = self._read_step(act) if isinstance(act, StoredStep) else self._read_delegation(act)
            calls.append(call)
            results += [result] if result is not None else []
        first = turn.acts[0] if turn.acts else None
        begun = (first.call if isinstance(first, StoredStep) else first.goal) if first else None
        self._step(
            "agent",
            reply.content if reply else "",
            reply.timestamp if reply else begun.timestamp if begun else "",
            model_name=turn.model if reply else None,
            tool_calls=calls or None,
            observation={"results": results} if results else None,
            metrics=_read_metrics(reply) if reply else None,
            llm_call_count=1 if reply else 0,
            extra=_known({"duration_ms": reply.duration_ms}) or None if reply else None,
        )

    def _read_step(self, step: StoredStep) -> tuple[Block, Block | None]:
        call, result = step.call, step.result
        call_id = self._ids.add(call.tool_call_id)
        extra = _known({"timestamp": call.timestamp or None})
        made = {"tool_call_id": call_id, "function_name": call.tool, "arguments": call.params}
        made |= {"extra": extra} if extra else {}
        if result is None:
            return made, None
        content: str | list[Block] = step.output
        place = self._pictures.get(result.screenshot or 0)
        if place is not None:
            source = {"media_type": MEDIA[PurePosixPath(place).suffix], "path": place}
            content = [{"type": "text", "text": step.output}, {"type": "image", "source": source}]
        figures = {"is_error": result.is_error, "url": result.url, "duration_ms": result.duration_ms}
        figures["timestamp"] = result.timestamp or None
        return made, {"source_call_id": call_id, "content": content, "extra": _known(figures)}

    def _read_delegation(self, delegation: StoredDelegation) -> tuple[Block, Block | None]:
        goal, report = delegation.goal, delegation.report
        call_id = self._ids.add(delegation.id)
        name = f"{self._name}/{len(self._parts) + 1}"
        part = _Part(name, self._session, self._agent, self._pictures, goal.executor_id)
        for entry in delegation.turns:
            part.add(entry)
        self._parts.append(part.document(goal.instruction))
        given = {"instruction": goal.instruction}
        made: Block = {"tool_call_id": call_id, "function_name": DELEGATE, "arguments": given}
        made["extra"] = _known({"timestamp": goal.timestamp or None, "max_steps": goal.max_steps})
        figures: Block = {"executor_id": goal.executor_id}
        if report is not None:
            figures |= {"status": report.status, "steps_used": report.steps_used, "url": report.current_url}
            figures |= {"duration_ms": report.duration_ms, "timestamp": report.timestamp or None}
        # Without a report too: only a result can refer to what the executor did.
        return made, {
            "source_call_id": call_id,
            "content": report.summary if report else None,
            "subagent_trajectory_ref": [{"trajectory_id": name}],
            "extra": _known(figures),
        }


def _read_metrics(reply: AssistantMessage) -> Block | None:
    usage = reply.usage
    if usage is None:
        return None
    tokens = {"prompt_tokens": usage.input_tokens, "completion_tokens": usage.output_tokens}
    return _known({**tokens, "cached_tokens": usage.cache_read_tokens, "cost_usd": usage.cost_usd})


def _known(block: Mapping[str, Any]) -> Block:
    """Return a block without what is not known: null says less than a key that is missing."""
    return {key: value for key, value in block.items() if value is not None}
