"""Serves the labelling page to this machine only.

The standard library's server is enough: one person, one browser, a few small answers. A framework would be a
further dependency of a command that most users never type.
"""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Callable
from http import HTTPStatus
from importlib.resources import files
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from pytest_browsereval.errors import UsageError
from pytest_browsereval.features.labelling.labels import Label, LabelBook, LabelWord
from pytest_browsereval.graders.judging.steps import Step, list_steps
from pytest_browsereval.local_server import PAGE_HEADERS, LocalHandler, LocalServer, PageAccess
from pytest_browsereval.model.tasks import TASK_FILE
from pytest_browsereval.redaction.text import well_formed
from pytest_browsereval.run_files import load_written, read_written
from pytest_browsereval.runs.attempt import StoredAttempt
from pytest_browsereval.runs.folder import find_pictures, number_of, read_messages

# Characters of a result: people label by what they can read.
LONGEST_TEXT = 4_000

LONGEST_ARGUMENTS = 2_000

# The page shows these on demand only: people who read the solution first label by it.
_HIDDEN = ("answer", "rubric", "checks", "milestones", "evals")


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
    steps = [_step(step, pictures) for step in list_steps(read_messages(attempt.folder))]
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


def _step(step: Step, pictures: dict[int, int]) -> dict[str, Any]:
    return {
        "number": step.number,
        "tool": step.tool,
        "arguments": _cut(json.dumps(step.params, ensure_ascii=False, indent=1), LONGEST_ARGUMENTS),
        "result": _cut(step.text) if step.is_over else "the attempt ended before the result",
        "failed": step.is_error,
        "thought": _cut(step.thought),
        "url": step.url,
        "duration_ms": step.duration_ms,
        "picture": None if step.screenshot is None else pictures.get(step.screenshot),
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


def as_bytes(value: Any) -> bytes:
    """Return plain values as JSON; halves of characters, which no page can show, are replaced."""
    return well_formed(json.dumps(value, ensure_ascii=False)).encode()


def _cut(text: str, longest: int = LONGEST_TEXT) -> str:
    return text if len(text) <= longest else f"{text[:longest]}\n… {len(text) - longest:,} more characters"


# A label is a few words and a note; more is not from the page.
MOST_BYTES = 64 * 1024

_MOST_READ = 16 * MOST_BYTES
_PICTURES = {".jpeg": "image/jpeg", ".jpg": "image/jpeg", ".png": "image/png", ".webp": "image/webp"}
_JSON = "application/json"


# -- the server


class LabelRequest(BaseModel):
    """What the page sends."""

    model_config = ConfigDict(extra="forbid", strict=True)

    place: int = Field(ge=0)
    label: LabelWord | None
    note: str = Field(default="", max_length=10_000)


class _Refused(Exception):
    def __init__(self, status: HTTPStatus, why: str) -> None:
        super().__init__(why)
        self.status = status


class LabellingServer(LocalServer):
    """The page of one labeller, while it is open. Use it as a context manager.

    `PageAccess` says which requests are answered. Attempts and pictures are asked for by number, never by
    path.

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
        try:
            super().__init__(_Handler, port)
        except (OSError, OverflowError) as error:
            message = getattr(error, "strerror", None) or str(error)
            raise UsageError(f"port {port} cannot be used: {message}. Name another by --port.") from None
        self.access = PageAccess(self.server_port)

    @property
    def url(self) -> str:
        """The address of the page, which nobody can guess."""
        return self.access.url

    # -- answers

    def page(self) -> tuple[bytes, str]:
        """Return the page, and the nonce that its script and style sheet carry."""
        parts = files("pytest_browsereval.features.labelling")
        nonce = secrets.token_urlsafe(16)
        text = parts.joinpath("page.html").read_text(encoding="utf-8").replace("@nonce@", nonce)
        for name in ("page.css", "page.js"):
            text = text.replace(f"@{name}@", parts.joinpath(name).read_text(encoding="utf-8"))
        return text.encode(), nonce

    def answer(self, path: str) -> Any:
        """Return what the page asks for, as plain values.

        Raises:
            LookupError: there is no such thing.
        """
        book = self.book
        if path == "attempts":
            lines = [line_of(place, one, book.label(place)) for place, one in enumerate(book.attempts)]
            return {"run": self.run, "labeller": book.labeller, "attempts": lines}
        match = re.fullmatch(r"attempts/(\d{1,9})(?:/(reference|grades))?", path)
        if match is None:
            raise LookupError(path)
        attempt = book.attempts[int(match[1])]
        if match[2] == "reference":
            return reference_view(attempt)
        if match[2] == "grades":
            book.show_grades(int(match[1]))
            return grades_view(attempt)
        return attempt_view(attempt)

    def picture(self, path: str) -> tuple[bytes, str] | None:
        """Return a picture and its type; None if the path asks for none.

        Raises:
            LookupError: it is not there.
        """
        match = re.fullmatch(r"attempts/(\d{1,9})/pictures/(\d{1,9})", path)
        if match is None:
            return None
        file = picture_file(self.book.attempts[int(match[1])], int(match[2]))
        if file is None:
            raise LookupError(path)
        return read_written(file), _PICTURES[file.suffix]

    def take(self, body: bytes) -> Any:
        """Write down a label and return it as a line of the list.

        Raises:
            ValueError: it is none.
            LookupError: there is no such attempt.
            OSError: it could not be written.
        """
        request = LabelRequest.model_validate_json(body)
        attempt = self.book.attempts[request.place]
        label = self.book.write(request.place, request.label, request.note)
        return line_of(request.place, attempt, label)


class _Handler(LocalHandler):
    server: LabellingServer
    timeout = 30
    # Each answer ends its connection: the rest of a body that is too long is never taken for a request.
    protocol_version = "HTTP/1.0"

    def do_GET(self) -> None:
        """Answer with the page, or with what it asks for."""
        self._answer(self._get)

    def do_POST(self) -> None:
        """Take a label."""
        given = self.headers.get("Content-Length", "")
        length = int(given) if re.fullmatch(r"[0-9]{1,9}", given) else None
        # Read before it is judged: a connection that is closed on unread bytes takes the answer with it.
        body = self.rfile.read(min(length or 0, _MOST_READ))
        self._answer(lambda path: self._post(path, length, body))

    def _answer(self, respond: Callable[[str], None]) -> None:
        try:
            respond(self._inner_path())
        except _Refused as refused:
            self._refuse(refused.status, str(refused))
        except LookupError:
            self._refuse(HTTPStatus.NOT_FOUND, "not found")
        except OSError as error:
            self._refuse(
                HTTPStatus.INTERNAL_SERVER_ERROR, f"the file cannot be used: {error.strerror or error}"
            )

    def _refuse(self, status: HTTPStatus, why: str) -> None:
        self._send(as_bytes({"error": why}), _JSON, status=status)

    def _inner_path(self) -> str:
        """Return the path behind the token.

        Raises:
            _Refused: the request has not the token, or another site had it sent.
        """
        token, slash, rest = self.path.partition("?")[0].removeprefix("/").partition("/")
        # Without the slash the page's own addresses would lack the token.
        why = self.server.access.find_refusal(self.headers.items(), token if slash else "")
        if why is not None:
            raise _Refused(HTTPStatus.FORBIDDEN, why)
        return rest

    def _get(self, path: str) -> None:
        page = self.server
        if not path:
            text, nonce = page.page()
            self._send(text, "text/html; charset=utf-8", nonce=nonce)
            return
        if (picture := page.picture(path)) is not None:
            self._send(*picture)
        else:
            self._send(as_bytes(page.answer(path)), _JSON)

    def _post(self, path: str, length: int | None, body: bytes) -> None:
        if path != "labels":
            raise LookupError(path)
        # Of this type no form of another page can send: its browser would ask here first.
        if self.headers.get_content_type() != _JSON or "Origin" not in self.headers:
            raise _Refused(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "not sent by the labelling page")
        if length is None or length > MOST_BYTES:
            message = f"more than {MOST_BYTES} bytes, or of no length"
            raise _Refused(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, message)
        try:
            line = self.server.take(body)
        except ValidationError as error:
            raise _Refused(HTTPStatus.BAD_REQUEST, str(error).partition("\n")[0]) from None
        self._send(as_bytes(line), _JSON)

    def _send(
        self, body: bytes, kind: str, *, status: HTTPStatus = HTTPStatus.OK, nonce: str | None = None
    ) -> None:
        self.send(status, kind, body, {"Content-Security-Policy": _policy(nonce), **PAGE_HEADERS})


def _policy(nonce: str | None) -> str:
    own = f"'nonce-{nonce}'" if nonce else "'none'"
    policy = {
        "default-src": "'none'",
        "script-src": own,
        "style-src": own,
        "img-src": "'self' data:",
        "connect-src": "'self'",
        "base-uri": "'none'",
        "form-action": "'none'",
        "frame-ancestors": "'none'",
    }
    return "; ".join(f"{name} {value}" for name, value in policy.items())
