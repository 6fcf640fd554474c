"""Requests as a browser, a HAR file or a server has seen them, and what is looked for among them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any
from urllib.parse import parse_qs

from pydantic import JsonValue

from pytest_browsereval.features.shared.address_pattern import matches_address
from pytest_browsereval.features.shared.request_spellings import list_readings
from pytest_browsereval.graders.comparators import Comparator
from pytest_browsereval.graders.values import look_up, read_json, show
from pytest_browsereval.redaction.known import beginning

FORMS = ("application/x-www-form-urlencoded", "multipart/form-data")
"""Media types of what forms send."""


@dataclass(frozen=True)
class SeenRequest:
    """One request with the status of its response."""

    method: str
    url: str
    status: int = 0
    """0 or less if there was no response."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """By their names in lower case."""
    kind: str = ""
    """The media type of the body."""
    body: str = ""
    is_whole: bool = True
    """Whether all of the body is known."""
    is_answer_known: bool = True
    when: str = ""
    """``step 3``, for messages."""

    def __str__(self) -> str:
        status = f" -> {self.status}" if self.status > 0 else ""
        return f"{self.method} {beginning(self.url, 300)}{status}{f' ({self.when})' if self.when else ''}"

    @cached_property
    def sent(self) -> dict[str, Any] | None:
        """The fields of a form or of a JSON object that were sent."""
        return read_fields(self.kind, self.body)

    @cached_property
    def readings(self) -> tuple[str, ...]:
        """The whole request as a text, as it was sent and decoded."""
        headers = "".join(f"{name}: {value}\n" for name, value in self.headers.items())
        return tuple(list_readings(f"{self.method} {self.url}\n{headers}{self.body}"))


def read_fields(kind: str, text: str) -> dict[str, Any] | None:
    """Return the fields of a form or of a JSON object; None of anything else."""
    if "application/json" in kind:
        value = read_json(text)
        return value if isinstance(value, dict) else None
    fields = _read_form(kind, text)
    return fields and {name: values[0] for name, values in fields.items()}


def _read_form(kind: str, text: str) -> dict[str, list[str]] | None:
    """Return the values of each field of a form: several boxes may have one name."""
    if text and "application/x-www-form-urlencoded" in kind:
        return parse_qs(text, keep_blank_values=True)
    boundary = re.search(r"boundary=([^;\s]+)", kind) if "multipart/form-data" in kind else None
    if not text or boundary is None:
        return None
    fields: dict[str, list[str]] = {}
    for part in text.replace("\r\n", "\n").split(f"--{boundary[1]}"):
        head, _, body = part.lstrip("\n").partition("\n\n")
        if name := re.search(r'^content-disposition:.*?\bname="([^"]+)"', head, re.IGNORECASE | re.MULTILINE):
            fields.setdefault(name[1], []).append(body.removesuffix("\n"))
    return fields


def _list_values(request: SeenRequest, name: str) -> list[Any]:
    """Return the values of a form's field, with both kinds of line breaks; last the list of several."""
    kind, text = request.kind, request.body
    if kind.startswith("text/plain"):
        pattern = rf"^{re.escape(name)}=(.*?)\r\n(?=[^\r\n=]+=|\Z)"
        found = re.findall(pattern, text, re.DOTALL | re.MULTILINE)
    else:
        if request.method == "GET":  # its form is in the address
            kind, text = FORMS[0], request.url.partition("?")[2]
        found = (_read_form(kind, text) or {}).get(name, [])
    values = [one.replace("\r\n", "\n") for one in found] or [None]
    broken = [one.replace("\n", "\r\n") for one in values if one and "\n" in one]
    return [*broken, *values, values] if len(values) > 1 else [*broken, *values]


@dataclass(frozen=True)
class Condition:
    """A comparison with a part of what was sent."""

    part: str
    """``json``, ``form``, ``body``, or ``sent``: the whole request in any encoding."""
    comparator: Comparator
    path: str = ""
    """Of the JSON value, or the name of the form's field."""

    def find_problem(self, request: SeenRequest) -> str:
        """Return how a request differs; "" if it does not. Blocks for patterns.

        Raises:
            Fault: a pattern takes too long.
        """
        values: Sequence[JsonValue] = [request.body]
        if self.part == "sent":
            values = request.readings
        elif self.part == "form":
            values = _list_values(request, self.path)
        elif self.part == "json":
            # `fetch` calls its JSON plain text.
            value = None if request.kind.startswith(FORMS) else read_json(request.body)
            if request.body and value is None and request.body != "null":
                return "it sent no JSON"
            found, problem = look_up(self.path, value) if self.path else (value, "")
            if problem:
                return problem
            values = [found]
        problems = [self.comparator.problem(value, "strict") for value in values]
        is_any = not self.comparator.kind.startswith("not_")
        problem = "" if is_any and not all(problems) else next(filter(None, problems), "")
        if problem and self.comparator.kind == "equals" and self.part != "sent":
            shown = "nothing" if values[-1] is None else show(values[-1], 120)
            return f"was sent with {self.path or self.part} {shown}, not {show(self.comparator.expected, 80)}"
        return problem

    def describe_problem(self, request: SeenRequest) -> str:
        """Return the same as the end of a sentence about the request."""
        problem = self.find_problem(request)
        is_sentence = not problem or problem.startswith("was sent with ")
        return problem if is_sentence else f"lacks {self}: {problem}"

    def __str__(self) -> str:
        equals = self.comparator.kind == "equals"
        what = f"= {show(self.comparator.expected, 80)}" if equals else str(self.comparator)
        return f"{self.path or self.part} {what}"


@dataclass(frozen=True)
class RequestPattern:
    """Requests that are looked for."""

    url: str
    """A pattern of addresses."""
    method: str = ""
    """Empty takes any."""
    status: int | None = None
    conditions: tuple[Condition, ...] = ()

    def is_for(self, request: SeenRequest) -> bool:
        """Return whether method and address are as they should be."""
        is_method = not self.method or request.method.upper() == self.method
        return is_method and matches_address(self.url, request.url)

    def find_problem(self, request: SeenRequest) -> str:
        """Return what else of such a request is not as it should be; "" if all is. Blocks for patterns.

        Raises:
            Fault: a pattern takes too long.
        """
        if self.status is not None and request.status != self.status:
            answer = f"with {request.status}" if request.status > 0 else "with nothing"
            return f"was answered {answer}, not {self.status}"
        return next(filter(None, (one.describe_problem(request) for one in self.conditions)), "")

    def find(self, requests: Sequence[SeenRequest]) -> Iterator[SeenRequest]:
        """Yield the requests that are as they should be, in their order; see `find_problem`."""
        return (one for one in requests if self.is_for(one) and not self.find_problem(one))

    def is_open(self, request: SeenRequest) -> bool:
        """Return whether a request may be such a one, of which a part is not known."""
        if not self.is_for(request):
            return False
        if self.status is not None and not request.is_answer_known:
            return True
        return bool(self.conditions) and not request.is_whole and self.status in (None, request.status)
