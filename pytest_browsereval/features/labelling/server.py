"""Serves the labelling page to this machine only."""

from __future__ import annotations

import json
import re
import secrets
from importlib.resources import files
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from pytest_browsereval.features.labelling.labels import Label, LabelBook, LabelWord
from pytest_browsereval.features.shared.page_server import PICTURES, Answer, PageServer
from pytest_browsereval.model.tasks import TASK_FILE
from pytest_browsereval.run_files import load_written, read_written
from pytest_browsereval.runs.attempt import StoredAttempt
from pytest_browsereval.runs.folder import find_pictures, number_of
from pytest_browsereval.runs.turns import StoredStep

# Characters of a result: people label by what they can read.
LONGEST_TEXT = 4_000

LONGEST_ARGUMENTS = 2_000

# The page shows these on demand only: people who read the solution first label by it.
_HIDDEN = ("answer", "rubric", "checks", "effects", "milestones", "evals")


def line_of(place: int, attempt: StoredAttempt, label: Label | None) -> dict[str, Any]:
    """Return an attempt as a line of the list."""
    names = ("query_id", "variant", "trial", "attempt")
    return {
        "place": place,
        **{name: getattr(attempt, name) for name in names},
        "label": label.label if label else None,
        "note": label.note if label else "",
    }


def attempt_view(attempt: StoredAttempt) -> dict[str, Any]:
    """Return what is shown of an attempt at once: nothing of its solution, its grades or its verdict."""
    data = attempt.metadata
    pictures = {number_of(file): place for place, file in enumerate(find_pictures(attempt.folder))}
    steps = [_step(step, pictures) for step in attempt.steps]
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
        "folder": attempt.place,
    }


def _step(step: StoredStep, pictures: dict[int, int]) -> dict[str, Any]:
    result = step.result
    return {
        "number": step.number,
        "tool": step.call.tool,
        "arguments": _cut(json.dumps(step.call.params, ensure_ascii=False, indent=1), LONGEST_ARGUMENTS),
        "result": _cut(step.output) if result else "the attempt ended before the result",
        "failed": bool(result and result.is_error),
        "thought": _cut(step.thought),
        "url": result and result.url,
        "duration_ms": result and result.duration_ms,
        "picture": pictures.get(result.screenshot) if result and result.screenshot is not None else None,
    }


def reference_view(attempt: StoredAttempt) -> dict[str, Any]:
    """Return what the row says of its solution; empty if it says nothing, or may not be stored."""
    try:
        task = load_written(attempt.folder / TASK_FILE)["task"]
        found = {name: task.get(name) for name in _HIDDEN}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {}
    return {
        name: _cut(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=1))
        for name, value in found.items()
        if value not in (None, [], {}, "")
    }


def grades_view(attempt: StoredAttempt) -> dict[str, Any]:
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
                "reasoning": _cut(grade.reasoning),
                "advisory": grade.advisory,
            }
            for name, grade in data.grader_results.items()
        ],
    }


def picture_file(attempt: StoredAttempt, place: int) -> Path | None:
    """Return a picture of an attempt by its place in their order; None if it is not there.

    A link that leads out of the attempt's folder, as a program of the attempt could have made, is none.
    """
    files = find_pictures(attempt.folder)
    if not 0 <= place < len(files):
        return None
    file = files[place].resolve()
    return file if file.is_relative_to(attempt.folder.resolve()) and file.is_file() else None


def _cut(text: str, longest: int = LONGEST_TEXT) -> str:
    return text if len(text) <= longest else f"{text[:longest]}\n… {len(text) - longest:,} more characters"


# -- the server


class LabelRequest(BaseModel):
    """What the page sends."""

    model_config = ConfigDict(extra="forbid", strict=True)

    place: int = Field(ge=0)
    label: LabelWord | None
    note: str = Field(default="", max_length=10_000)


class LabellingServer(PageServer):
    """The page of one labeller, while it is open. Use it as a context manager.

    Attempts and pictures are asked for by number, never by path.

    Args:
        book: the labels.
        run: the run's name, for the page's title.
        port: where to listen; 0 takes a free port.

    Raises:
        UsageError: the port is taken.
    """

    def __init__(self, book: LabelBook, run: str, port: int = 0) -> None:
        self.book = book
        self.run = run
        super().__init__("--port", port)

    def get(self, path: str, query: str) -> Answer:
        """Return the page, or what it asks for."""
        del query
        if not path:
            return self._page()
        book = self.book
        if path == "attempts":
            lines = [line_of(place, one, book.label(place)) for place, one in enumerate(book.attempts)]
            return Answer.of({"run": self.run, "labeller": book.labeller, "attempts": lines})
        match = re.fullmatch(r"attempts/(\d{1,9})(?:/(reference|grades|pictures/\d{1,9}))?", path, re.ASCII)
        if match is None:
            raise LookupError(path)
        attempt, below = book.attempts[int(match[1])], match[2] or ""
        if below == "reference":
            return Answer.of(reference_view(attempt))
        if below == "grades":
            book.show_grades(int(match[1]))
            return Answer.of(grades_view(attempt))
        if not below:
            return Answer.of(attempt_view(attempt))
        if (file := picture_file(attempt, int(below.removeprefix("pictures/")))) is None:
            raise LookupError(path)
        return Answer(read_written(file), PICTURES[file.suffix[1:]])

    def _page(self) -> Answer:
        parts = files("pytest_browsereval.features.labelling")
        nonce = secrets.token_urlsafe(16)
        text = parts.joinpath("page.html").read_text(encoding="utf-8").replace("@nonce@", nonce)
        for name in ("page.css", "page.js"):
            text = text.replace(f"@{name}@", parts.joinpath(name).read_text(encoding="utf-8"))
        return Answer(text.encode(), "text/html; charset=utf-8", POLICY.format(own=f"'nonce-{nonce}'"))

    def post(self, path: str, body: bytes) -> Answer:
        """Write down a label and return it as a line of the list."""
        if path != "labels":
            raise LookupError(path)
        request = LabelRequest.model_validate_json(body)
        attempt = self.book.attempts[request.place]
        label = self.book.write(request.place, request.label, request.note)
        return Answer.of(line_of(request.place, attempt, label))


POLICY = (
    "default-src 'none'; script-src {own}; style-src {own}; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'"
)
