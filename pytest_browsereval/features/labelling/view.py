"""An attempt as the labelling page shows it, as plain values."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pytest_browsereval.capture.trajectory import TASK_FILE, read_written
from pytest_browsereval.features.labelling.labels import Attempt, Label
from pytest_browsereval.graders.judging.pictures import find_pictures, number_of
from pytest_browsereval.graders.judging.steps import Step, list_steps, messages_of
from pytest_browsereval.redaction.text import well_formed

# Characters of a result: people label by what they can read.
LONGEST_TEXT = 4_000

LONGEST_ARGUMENTS = 2_000

# The page shows these on demand only: whoever has read the solution first labels by it.
_HIDDEN = ("answer", "rubric", "checks", "evals")


def line_of(place: int, attempt: Attempt, label: Label | None) -> dict[str, Any]:
    """Return an attempt as a line of the list."""
    data = attempt.metadata
    return {
        "place": place,
        "query_id": data.query_id,
        "variant": data.variant,
        "trial": data.trial,
        "attempt": data.attempt,
        "label": label.label if label else None,
        "note": label.note if label else "",
    }


def attempt_view(attempt: Attempt) -> dict[str, Any]:
    """Return what is shown of an attempt at once: nothing of its solution, its grades or its verdict."""
    data = attempt.metadata
    pictures = {number_of(file): place for place, file in enumerate(find_pictures(attempt.folder))}
    steps = [_step(step, pictures) for step in list_steps(messages_of(attempt.folder))]
    shown = {step["picture"] for step in steps}
    return {
        "query": data.query,
        "start_url": data.start_url,
        "final_url": data.final_url,
        "answer": data.final_answer,
        "termination": str(data.termination_reason),
        "duration_s": data.agent_duration_ms and round(data.agent_duration_ms / 1000, 1),
        "steps": steps,
        "pictures": [
            {"picture": place, "number": number} for number, place in pictures.items() if place not in shown
        ],
        "folder": attempt.relative,
    }


def _step(step: Step, pictures: dict[int, int]) -> dict[str, Any]:
    return {
        "number": step.number,
        "tool": step.tool,
        "arguments": _cut(json.dumps(step.params, ensure_ascii=False, indent=1), LONGEST_ARGUMENTS),
        "result": _cut(step.text, LONGEST_TEXT) if step.is_over else "the attempt ended before the result",
        "failed": step.is_error,
        "thought": _cut(step.thought, LONGEST_TEXT),
        "url": step.url,
        "duration_ms": step.duration_ms,
        "picture": None if step.screenshot is None else pictures.get(step.screenshot),
    }


def reference_view(attempt: Attempt) -> dict[str, Any]:
    """Return what the row says of its solution; empty if it says nothing, or may not be stored."""
    try:
        task = json.loads(read_written(attempt.folder / TASK_FILE))["task"]
        found = {name: task.get(name) for name in _HIDDEN}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {}
    return {name: _text(value) for name, value in found.items() if value not in (None, [], {}, "")}


def grades_view(attempt: Attempt) -> dict[str, Any]:
    """Return what the graders say of an attempt."""
    data = attempt.metadata
    return {
        "verdict": str(data.verdict),
        "reason": data.reason,
        "grades": [
            {
                "grader": name,
                "verdict": str(grade.verdict),
                "score": grade.score,
                "reasoning": _cut(grade.reasoning, LONGEST_TEXT),
                "advisory": grade.advisory,
            }
            for name, grade in data.grader_results.items()
        ],
    }


def picture_file(attempt: Attempt, place: int) -> Path | None:
    """Return a picture of an attempt by its place in their order; None if it is not there.

    A link that leads out of the attempt's folder, as a program of the attempt could have made, is none.
    """
    files = find_pictures(attempt.folder)
    if not 0 <= place < len(files):
        return None
    file = files[place].resolve()
    return file if file.is_relative_to(attempt.folder.resolve()) and file.is_file() else None


def as_bytes(value: Any) -> bytes:
    """Return plain values as JSON; halves of characters, which no page can show, are replaced."""
    return well_formed(json.dumps(value, ensure_ascii=False)).encode()


def _text(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=1)
    return _cut(text, LONGEST_TEXT)


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[:longest]}\n… {len(text) - longest:,} more characters"
