"""Grades of what is recorded with ``[redacted]`` in the place of a secret: it cannot be compared any more."""

from __future__ import annotations

import json
from collections.abc import Mapping

from pydantic import JsonValue

from pytest_browsereval.features.shared.combining import CombiningGrader
from pytest_browsereval.features.shared.judging.base import ModelGrader
from pytest_browsereval.graders.base import GraderConfig
from pytest_browsereval.model.grades import GraderResult, Verdict
from pytest_browsereval.redaction.marks import MARK

CANNOT = f"a secret is recorded as {MARK}, so the attempt cannot be compared again. Run the task again"

_KEPT = f"Not graded again, since a secret is recorded as {MARK}."


def settle_redacted(
    grader: GraderConfig, new: GraderResult, before: GraderResult | None, compared: JsonValue
) -> GraderResult:
    """Return the grade that counts: two secrets are recorded by the same mark, and would seem to be equal.

    Judges are asked again, since what they read was redacted in the attempt too.

    Args:
        grader: that has graded.
        new: its grade of the record.
        before: its grade of the attempt by the same row; None if the row has changed.
        compared: what is recorded, and what the row wants: as a pattern, a mark would match other texts.
    """
    parts = grader.parts if isinstance(grader, CombiningGrader) else (grader,)
    if new.verdict is Verdict.ERRORED or all(isinstance(part, ModelGrader) for part in parts):
        return new
    if MARK not in json.dumps(compared, ensure_ascii=False):
        return new
    paid: Mapping[str, object] = {"usage": new.usage, "cost_usd": new.cost_usd, "advisory": new.advisory}
    if before is None or before.verdict is Verdict.ERRORED or before.fingerprint != new.fingerprint:
        errored = {"verdict": Verdict.ERRORED, "score": None, "reasoning": CANNOT, "criteria": ()}
        return new.model_copy(update=errored)
    reasoning = before.reasoning if _KEPT in before.reasoning else f"{before.reasoning} {_KEPT}".strip()
    return before.model_copy(update={**paid, "reasoning": reasoning})
