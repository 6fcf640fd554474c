"""The trials of a variant as entries of a log of Inspect."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pytest_browsereval.datasets.ids import safe_id
from pytest_browsereval.errors import TerminationReason
from pytest_browsereval.features.inspect_log.conversation import Conversation, make_usage, name_model
from pytest_browsereval.features.inspect_log.package import make_id
from pytest_browsereval.features.shared.export_record import OURS, clean_json, describe_record, withhold
from pytest_browsereval.model.derived import find_outcome, is_judged
from pytest_browsereval.model.grades import Verdict
from pytest_browsereval.model.results import TaskMetadata
from pytest_browsereval.model.usage import Usage
from pytest_browsereval.redaction.marks import WITHHELD
from pytest_browsereval.redaction.text import well_formed
from pytest_browsereval.runs.attempt import StoredAttempt
from pytest_browsereval.runs.turns import find_model

VERDICT = "verdict"
"""The score that says whether a trial passed."""

LETTERS = {Verdict.PASSED: "C", Verdict.FAILED: "I"}

LIMITS = {
    TerminationReason.TIMEOUT: "time",
    TerminationReason.MAX_STEPS: "custom",
    TerminationReason.BUDGET: "cost",
}
"""Kinds of limits that Inspect knows."""


@dataclass
class Totals:
    """What the trials of a log came to."""

    trials: int = 0
    completed: int = 0
    scores: dict[str, list[float]] = field(default_factory=dict)
    usage: dict[str, Usage] = field(default_factory=dict)
    completed_at: str = ""


def name_main_model(record: TaskMetadata) -> str:
    """Return the name of the model of an agent."""
    provider, model = find_model(record.agent_config)
    return name_model(provider if model else None, model, str(record.agent_config.get("type") or "unknown"))


def list_usage(record: TaskMetadata) -> dict[str, Usage]:
    """Return the usage of an attempt by models, judges among them."""
    found: dict[str, Usage] = {}
    parts = dict(record.usage_by_role)
    if sum(parts.values(), Usage()).input_tokens != record.usage.input_tokens:
        parts = {"": record.usage}
    for role, usage in parts.items():
        name = name_main_model(record)
        if role == "executor":
            provider, model = find_model(record.agent_config, is_executor=True)
            name = name_model(provider, model, role)
        if usage.requests:
            found[name] = found.get(name, Usage()) + usage
    for grader, grade in record.grader_results.items():
        if grade.usage.requests:
            name = f"judge/{well_formed(grader)}"
            found[name] = grade.usage.model_copy(update={"cost_usd": grade.cost_usd})
    return found


class TrialWriter:
    """Makes the entry of a trial.

    Args:
        api: of Inspect.
        pictures: whether pictures are written.
    """

    def __init__(self, api: Any, *, pictures: bool) -> None:
        self._api, self._has_pictures = api, pictures
        self.totals = Totals()

    def make(self, attempts: Sequence[StoredAttempt]) -> Any:
        """Return the entry of a trial, whose last attempt counts.

        Args:
            attempts: all of them, in their order.
        """
        api, last = self._api, attempts[-1]
        records = [withhold(one.metadata) if one.is_protected else one.metadata for one in attempts]
        record = records[-1]
        talks = [self._converse(*one) for one in zip(attempts, records, strict=True)]
        usage: dict[str, Usage] = {}
        for one in records:
            for name, used in list_usage(one).items():
                usage[name] = usage.get(name, Usage()) + used
        scores = self._score(record)
        self._count(record, scores, usage)
        retries = [
            api.EvalRetryError(**self._make_error(one).model_dump(), events=talk.events)
            for one, talk in zip(records[:-1], talks[:-1], strict=True)
        ]
        limit = LIMITS.get(record.termination_reason)
        answer = well_formed(record.final_answer or "")
        said = api.ChatMessageAssistant(content=answer, id=make_id(last.id, "answer"))
        output = api.ModelOutput.from_message(said)
        output.model = name_main_model(record)
        return api.EvalSample(
            id=name_task(record.query_id),
            epoch=record.trial,
            input=well_formed(record.query),
            target=_read_target(last, record),
            messages=talks[-1].messages,
            output=output,
            scores=scores or None,
            events=talks[-1].events,
            metadata=self._describe(attempts, records),
            model_usage={name: make_usage(api, used) for name, used in usage.items()},
            role_usage={role: make_usage(api, used) for role, used in record.usage_by_role.items()},
            started_at=record.started_at or None,
            completed_at=record.completed_at or None,
            total_time=(record.total_duration_ms or 0) / 1000,
            working_time=(record.agent_duration_ms or 0) / 1000,
            uuid=make_id(last.id),
            error=self._make_error(record) if record.verdict is Verdict.ERRORED else None,
            error_retries=retries or None,
            limit=api.EvalSampleLimit(type=limit, limit=0) if limit else None,
        )

    def _converse(self, attempt: StoredAttempt, record: TaskMetadata) -> Conversation:
        is_withheld = record.query == WITHHELD
        pictures = attempt.pictures if self._has_pictures and not is_withheld else {}
        talk = Conversation(self._api, attempt.id, record.agent_config, record.started_at, pictures)
        talk.add(() if is_withheld else attempt.turns, record.query)
        return talk

    def _score(self, record: TaskMetadata) -> dict[str, Any]:
        """Return the verdict and the grades as scores.

        One that broke has none, nor has one whose attack was not delivered: it is in no rate.
        """
        if not is_judged(record):
            return {}
        api, answer = self._api, record.final_answer and well_formed(record.final_answer)
        letter = LETTERS[record.verdict]
        scores = {VERDICT: api.Score(value=letter, answer=answer, explanation=well_formed(record.reason))}
        for name, grade in record.grader_results.items():
            if grade.score is not None:
                # A grader may have the name of the verdict.
                known = well_formed(name) if name != VERDICT else f"{name} (grade)"
                details = {"verdict": str(grade.verdict), "fingerprint": grade.fingerprint}
                scores[known] = api.Score(
                    value=grade.score,
                    answer=answer,
                    explanation=well_formed(grade.reasoning),
                    metadata=clean_json({**details, "advisory": grade.advisory}),
                )
        return scores

    def _make_error(self, record: TaskMetadata) -> Any:
        text = well_formed(f"{record.error_source}: {record.reason}")
        details = record.errors[-1].details if record.errors else None
        trace = (details or {}).get("traceback")
        trace = well_formed(trace) if isinstance(trace, str) else text
        return self._api.EvalError(message=text, traceback=trace, traceback_ansi=trace)

    def _describe(self, attempts: Sequence[StoredAttempt], records: Sequence[TaskMetadata]) -> Any:
        record = records[-1]
        pairs = zip(attempts, records, strict=True)
        kept = [describe_record(one, counts=attempt.counts) for attempt, one in pairs]
        return clean_json(
            {
                "task": record.query_id,
                "verdict": str(record.verdict),
                "attack": record.derived and record.derived.name,
                "attack_outcome": (outcome := find_outcome(record)) and str(outcome),
                OURS: kept,
            }
        )

    def _count(self, record: TaskMetadata, scores: Mapping[str, Any], usage: Mapping[str, Usage]) -> None:
        totals = self.totals
        totals.trials += 1
        totals.completed += record.verdict is not Verdict.ERRORED
        totals.completed_at = max(totals.completed_at, record.completed_at)
        for name, score in scores.items():
            value = {"C": 1.0, "I": 0.0}.get(score.value, score.value)
            totals.scores.setdefault(name, []).append(float(value))
        for name, used in usage.items():
            totals.usage[name] = totals.usage.get(name, Usage()) + used


def name_task(query_id: str) -> str:
    """Return the id of a task in a log, where it is also the name of an entry of a zip file."""
    is_plain = query_id.isprintable() and len(query_id) <= 200 and well_formed(query_id) == query_id
    return query_id if is_plain else safe_id(query_id)


def _read_target(attempt: StoredAttempt, record: TaskMetadata) -> str:
    task = attempt.task if record.query != WITHHELD else None
    return well_formed(task.answer) if task is not None and isinstance(task.answer, str) else ""
