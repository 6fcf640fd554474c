"""What graders look at while the window is open: evidence of one thing says nothing of another."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator
from types import EllipsisType

from pydantic import JsonValue

from pytest_browsereval.graders.base import GraderConfig
from pytest_browsereval.graders.parts import parts_of
from pytest_browsereval.model.tasks import Task
from pytest_browsereval.model.traffic import Traffic
from pytest_browsereval.needs import Needs
from pytest_browsereval.redaction.text import redact_json


def observation_keys(
    graders: Iterable[GraderConfig], task: Task, redact: Callable[[str], str] = str
) -> dict[str, str]:
    """Return 16 hex digits over what each grader observes of an attempt, by its label.

    A part of a grader has both labels, ``combined/state_diff``. Graders for which options and row make no
    difference are left out.

    Args:
        graders: with their placeholders filled in.
        task: the row, filled in as well.
        redact: takes secrets out, so that one that was renewed makes no difference.
    """
    return {
        label: hashlib.sha256(json.dumps(redact_json(what, redact), sort_keys=True).encode()).hexdigest()[:16]
        for label, what in _observations(graders, task)
    }


def _observations(graders: Iterable[GraderConfig], task: Task) -> Iterator[tuple[str, JsonValue]]:
    for grader in graders:
        if parts := parts_of(grader):
            yield from ((f"{grader.label}/{label}", what) for label, what in _observations(parts, task))
            continue
        needs = grader.needs(task)
        page, traffic = _find_decisive(grader, task, needs), needs.traffic or Traffic()
        # Keys of graders that observe the same for every row would only make evidence look outdated.
        if page is not None or traffic != Traffic():
            yield grader.label, [grader.type, page, traffic.replies, *sorted(traffic.cookies)]


def _find_decisive(grader: GraderConfig, task: Task, needs: Needs) -> JsonValue:
    """Return what decides what a grader reads from the live page of this row; None if nothing does."""
    if not isinstance(needs.observes, EllipsisType):
        return needs.observes
    # Who does not override `observe` sees nothing, so no change of the row matters.
    if type(grader).observe is GraderConfig.observe:
        return None
    return {"checks": list(task.checks), "evals": list(task.evals)}
