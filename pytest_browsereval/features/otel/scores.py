"""Grades as scores of a product: OTLP has none, so each product has a small call for them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from pytest_browsereval.features.otel.receiver import Receiver, Scores
from pytest_browsereval.features.otel.trace import MadeTrace
from pytest_browsereval.model.derived import find_outcome, find_score, is_judged
from pytest_browsereval.model.grades import Verdict
from pytest_browsereval.redaction.text import well_formed

SOURCE = "pytest-browsereval"
"""Who says it: a score that is sent again takes the place of the earlier one from there."""
VERDICT = "browsereval.verdict"
EXPERIMENT = "x-mlflow-experiment-id"
ODD = (AttributeError, LookupError, TypeError, ValueError)
NOT_MLFLOW = "it does not answer as MLflow does"


@dataclass(frozen=True)
class Score:
    """A grade, or the verdict, of an attempt."""

    name: str
    label: str
    value: float | None
    """From 0 to 1; None of an errored one."""
    reason: str
    """Empty if texts are not sent."""
    is_of_model: bool


def list_scores(made: MadeTrace) -> Iterator[Score]:
    """Yield the scores of an attempt.

    One that was made again does not count, and one at a derived row that has not met what that was derived by
    is in no rate: these have none. Products show the mean of a name, so derived rows have names of their own.
    """
    data = made.attempt
    if not made.attempt.counts or (find_outcome(data) is not None and find_score(data) is None):
        return
    reason = data.reason if made.has_content else ""
    verdict = data.verdict if is_judged(data) else Verdict.ERRORED
    value = {Verdict.PASSED: 1.0, Verdict.FAILED: 0.0}.get(verdict)
    by = "" if data.derived is None else data.derived.by
    mark = f".under_{by}" if by else ""
    yield Score(VERDICT + mark, verdict, value, reason, is_of_model=False)
    for name, grade in made.grades.items():
        reason = grade.reasoning if made.has_content else ""
        own = name if name == by else name + mark
        yield Score(own, grade.verdict, grade.score, reason, is_of_model=bool(grade.usage.requests))


class PhoenixScores:
    """Scores of Phoenix: annotations of the attempt's span.

    Args:
        receiver: where the traces go to.
    """

    def __init__(self, receiver: Receiver) -> None:
        self._receiver = receiver

    def send(self, made: MadeTrace) -> bool:
        """Send those of an attempt; return whether all are there."""
        data = [
            {
                "span_id": made.ids.span_id,
                "name": well_formed(score.name),
                "annotator_kind": "LLM" if score.is_of_model else "CODE",
                "result": _leave_out_empty(
                    label=score.label, score=score.value, explanation=well_formed(score.reason)
                ),
                "identifier": SOURCE,  # one that is there is replaced
            }
            for score in list_scores(made)
        ]
        return not data or self._receiver.call("POST", "/v1/span_annotations", {"data": data}) is not None


class MlflowScores:
    """Scores of MLflow: feedback on the attempt's trace.

    Args:
        receiver: where the traces go to.
        name: of the experiment, for a receiver that has no header for one.
    """

    def __init__(self, receiver: Receiver, name: str) -> None:
        self._receiver = receiver
        if not receiver.has_header(EXPERIMENT) and (found := self._find_experiment(name)):
            receiver.add_header(EXPERIMENT, found)

    def _find_experiment(self, name: str) -> str | None:
        """Return the id of the experiment, which is made if there is none."""
        name = name.replace('"', "'")  # the language of filters knows no escapes
        body = {"filter": f'name = "{name}"', "max_results": 1}
        found = self._receiver.call("POST", "/api/2.0/mlflow/experiments/search", body)
        if found is not None and not found.get("experiments"):
            found = self._receiver.call("POST", "/api/2.0/mlflow/experiments/create", {"name": name})
        if found is None:
            return None
        try:
            (first,) = found.get("experiments") or [found]
            return str(first["experiment_id"])
        except ODD:
            self._receiver.calls.end(NOT_MLFLOW)
            return None

    def send(self, made: MadeTrace) -> bool:
        """Send those of an attempt; return whether all are there."""
        scores = list(list_scores(made))
        path = f"/api/3.0/mlflow/traces/tr-{made.ids.trace_id}"
        known = self._receiver.call("GET", path) if scores else {}
        if known is None:
            return False
        try:
            there = _list_known(known)
        except ODD:
            self._receiver.calls.end(NOT_MLFLOW)
            return False
        return all(self._send(path, there.get(score.name), score, made) for score in scores)

    def _send(self, path: str, known: str | None, score: Score, made: MadeTrace) -> bool:
        is_verdict = score.name.partition(".under_")[0] == VERDICT
        value = bool(score.value) if is_verdict and score.value is not None else score.value
        error = {"error_code": "ERRORED", "error_message": score.reason} if value is None else None
        said = {
            "assessment_name": well_formed(score.name),
            "feedback": _leave_out_empty(value=value, error=error),
            "rationale": well_formed(score.reason),
        }
        if known is not None:
            body = {"assessment": said, "update_mask": "assessmentName,feedback,rationale"}
            return self._receiver.call("PATCH", f"{path}/assessments/{known}", body) is not None

        now = datetime.now(UTC).isoformat().replace("+00:00", "Z")
        whole = {
            **said,
            "trace_id": f"tr-{made.ids.trace_id}",
            "span_id": made.ids.span_id,
            "source": {"source_type": "LLM_JUDGE" if score.is_of_model else "CODE", "source_id": SOURCE},
            "create_time": now,
            "last_update_time": now,
        }
        return self._receiver.call("POST", f"{path}/assessments", {"assessment": whole}) is not None


def _list_known(answer: dict[str, Any]) -> dict[str, str]:
    """Return the ids of scores of ours by their names."""
    info = answer.get("trace", {}).get("trace_info", {})
    return {
        one["assessment_name"]: one["assessment_id"]
        for one in info.get("assessments", ())
        if one.get("source", {}).get("source_id") == SOURCE
    }


def _leave_out_empty(**values: Any) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value not in (None, "")}


def scores_for(product: str | None, receiver: Receiver, name: str) -> Scores | None:
    """Return what sends the scores of a product; None if it has none.

    Args:
        product: its name.
        receiver: where the traces go to.
        name: of the eval.
    """
    if product == "mlflow":
        return MlflowScores(receiver, name)
    return PhoenixScores(receiver) if product == "phoenix" else None
