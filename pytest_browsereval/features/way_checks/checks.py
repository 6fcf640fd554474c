"""``visited``, ``request`` and ``called``: what happened on the way."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import JsonValue

from pytest_browsereval.errors import nearest
from pytest_browsereval.features.shared.address_pattern import check_address, matches_address
from pytest_browsereval.features.shared.redacted_values import is_decided
from pytest_browsereval.features.shared.requests import Condition, RequestPattern, SeenRequest
from pytest_browsereval.features.way_checks.recording import RECORDINGS
from pytest_browsereval.graders.base import GraderFault, Recorded
from pytest_browsereval.graders.comparators import COMPARATORS, Comparator, read_comparator
from pytest_browsereval.graders.page_checks import CheckForm, PageCheck, read_count
from pytest_browsereval.graders.values import compile_path, show
from pytest_browsereval.model.display import format_count, join_first
from pytest_browsereval.model.grades import Criterion, Verdict
from pytest_browsereval.model.messages import Message, ToolCallMessage, ToolResultMessage
from pytest_browsereval.redaction.marks import MARK

if TYPE_CHECKING:
    from pytest_browsereval.browsers.playwright.windows import PlaywrightWindow

MOST_LISTED = 3
"""Of what was found that a grade lists."""
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS")


@dataclass(frozen=True)
class WayCheck(PageCheck):
    """A check that counts what happened."""

    async def look(self, window: PlaywrightWindow, seen: dict[str, Any]) -> None:
        """Add addresses and requests so far: a check that is corrected later may be about the others."""
        if recording := RECORDINGS.get(window):
            await recording.settle()
            seen["visited"] = {"entries": list(recording.visits), "dropped": recording.dropped}
            seen["request"] = {
                "entries": list(recording.requests),
                "dropped": recording.dropped,
                "unseen": recording.unseen,
            }

    def _entries(self, seen: Mapping[str, Any]) -> list[dict[str, Any]]:
        group = seen.get(self.kind)
        if not isinstance(group, dict):
            why = "nothing was recorded (-p no:browsereval.way_checks?). Run the task again"
            raise GraderFault(f"{self.title} was not observed: {why}")
        return list(group["entries"])

    def _refuse_if_open(self, count: int, why: str) -> None:
        """Raise a fault if what is not known could make a difference to a count."""
        if why and not (self.comparator.kind == "min" and count):
            raise GraderFault(f"whether {self.title} holds is not known: {why}")

    def _list(
        self, criterion: Criterion, found: Sequence[object], reason: str, near: object = None
    ) -> Criterion:
        listed = join_first([*map(str, found or filter(None, [near]))], MOST_LISTED)
        is_met = criterion.verdict is Verdict.PASSED
        if found:
            reason = f"{format_count(len(found), 'time')}, not {self.comparator.expected}: {listed}"
        return criterion.model_copy(update={"actual": listed or None, "reason": "" if is_met else reason})


# -- addresses


@dataclass(frozen=True)
class VisitedCheck(WayCheck):
    """An address that a tab showed."""

    def find_value(self, seen: Mapping[str, Any]) -> tuple[JsonValue, str]:
        """Return how often it was shown."""
        found = self._find(seen)
        self._refuse_if_open(len(found), "more happened than was kept" if seen[self.kind]["dropped"] else "")
        return len(found), ""

    def _find(self, seen: Mapping[str, Any]) -> list[str]:
        entries = self._entries(seen)
        return [_place(one["url"], one) for one in entries if matches_address(self.subject, one["url"])]

    def explain(self, criterion: Criterion, seen: Mapping[str, Any]) -> Criterion:
        """Name where it was shown, or the nearest address."""
        urls = dict.fromkeys(one["url"] for one in self._entries(seen))
        reason = f"it was not shown{_name_nearest(self.subject, urls)}"
        return self._list(criterion, self._find(seen), reason)


def _place(text: str, entry: Mapping[str, Any]) -> str:
    return f"{text} ({_when(entry)})"


def _when(entry: Mapping[str, Any]) -> str:
    return f"step {entry['step']}" if entry["step"] else "before the first step"


def _name_nearest(wanted: str, known: Iterable[str]) -> str:
    near = difflib.get_close_matches(wanted, [one[:500] for one in known], n=1, cutoff=0.3)
    return f"; the nearest is {near[0]}" if near else ""


def _read_visited(check: Mapping[str, JsonValue]) -> PageCheck:
    return VisitedCheck("visited", read_count(check), check_address(check["visited"], "visited"))


VISITED = CheckForm(
    "address, in which `*` stands for any characters but a slash, and `**` for any",
    "An address that a tab showed at any moment of the attempt: the start page, where links, forms and "
    "scripts led, and what a page without a reload calls its address; not what only redirects.",
    ("count", "weight", "not"),
    '[{"visited": "{shop}/cart*"}, {"visited": "{shop}/admin/**", "not": true}]',
    read=_read_visited,
    schema={"visited": {"type": "string", "minLength": 1}},
)


# -- requests


@dataclass(frozen=True)
class RequestCheck(WayCheck):
    """A request that a page made."""

    pattern: RequestPattern = field(default_factory=lambda: RequestPattern("**"))

    @property
    def is_slow(self) -> bool:
        """Whether it may take long to compare."""
        return bool(self.pattern.conditions)

    def _requests(self, seen: Mapping[str, Any]) -> list[SeenRequest]:
        return [
            SeenRequest(
                one["method"],
                one["url"],
                one.get("status", 0),
                kind=one.get("kind", ""),
                body=one.get("body", ""),
                is_whole=not one.get("cut"),
                is_answer_known=not one.get("unanswered"),
                when=_when(one),
            )
            for one in self._entries(seen)
        ]

    def find_value(self, seen: Mapping[str, Any]) -> tuple[JsonValue, str]:
        """Return how often it was made."""
        requests = self._requests(seen)
        found = list(self.pattern.find(requests))
        lost = next((one for one in requests if self.pattern.is_open(one)), None)
        why = "more was requested than was kept" if seen[self.kind]["dropped"] else ""
        if unseen := seen[self.kind].get("unseen"):
            why = f"{unseen} ran, and what those ask for is not seen"
        if lost is not None:
            why = f"what {lost} sent was not recorded: it has a file, is not text or exceeds 64 KB"
            why = why if lost.is_answer_known else f"how {lost} was answered was not recorded"
        self._refuse_if_open(len(found), why)
        return len(found), ""

    def explain(self, criterion: Criterion, seen: Mapping[str, Any]) -> Criterion:
        """Name the requests, or how the nearest one differs."""
        requests = self._requests(seen)
        expected = {"request": self.subject, "count": criterion.expected}
        found = list(self.pattern.find(requests))
        criterion = criterion.model_copy(update={"expected": expected})
        alike = [one for one in requests if self.pattern.is_for(one)]
        near = alike[-1] if alike else None
        return self._list(criterion, found, self._describe_nearest(alike, requests), near)

    def _describe_nearest(self, alike: Sequence[SeenRequest], requests: Sequence[SeenRequest]) -> str:
        pattern = self.pattern
        if alike:
            last, made = alike[-1], format_count(len(alike), pattern.method or "request")
            return f"{made} to {last.url}; the last one {pattern.find_problem(last)} ({last.when})"
        others = [one for one in requests if replace(pattern, method="").is_for(one)]
        if others:
            return f"no such request was made; the nearest is {others[-1]}"
        names = [f"{one.method} {one.url}" for one in requests if pattern.method in ("", one.method)]
        return f"no such request was made{_name_nearest(f'{pattern.method} {pattern.url}', names)}"


def _read_request(check: Mapping[str, JsonValue]) -> PageCheck:
    block = check["request"]
    example = 'Write a block such as {"method": "POST", "url": "{shop}/api/orders"}.'
    if not isinstance(block, dict) or "url" not in block:
        raise ValueError(f"'request' is {show(block)}, without a `url`. {example}")
    for key in block:
        if key not in _REQUEST_KEYS:
            raise ValueError(
                f"the check {show(dict(check))} has the unknown key {key!r} in `request`."
                f"{nearest(key, _REQUEST_KEYS)} It may have: {', '.join(_REQUEST_KEYS)}."
            )
    method, status = str(block.get("method") or "").upper(), block.get("status")
    if method and method not in METHODS:
        raise ValueError(f"'method' is {show(block['method'])}; write one of: {', '.join(METHODS)}.")
    if status is not None and not (type(status) is int and 100 <= status < 600):
        raise ValueError(f"'status' is {show(status)}; write an HTTP status, such as 201.")
    pattern = RequestPattern(
        check_address(block["url"], "url"), method, status, tuple(_read_conditions(block))
    )
    parts = [*([f"status {status}"] if status else []), *map(str, pattern.conditions)]
    subject = " ".join((method or "any", pattern.url, *(["with", ", ".join(parts)] if parts else [])))
    return RequestCheck("request", read_count(block), subject, pattern=pattern)


def _read_conditions(block: Mapping[str, JsonValue]) -> Iterator[Condition]:
    given = block.get("json", [])
    for one in given if isinstance(given, list) else [given]:
        part = _read_block(one, "json", 'such as {"path": "items[0].id", "equals": "mug"}')
        path = str(part.get("path") or "")
        if path:
            compile_path(path)
        yield Condition("json", read_comparator(part, others=("path",)), path)
    form = _read_block(block.get("form", {}), "form", 'such as {"quantity": "2"}')
    if "path" in form and len(form) == 2 and {*form} & {*COMPARATORS}:
        ((how, value),) = ((key, value) for key, value in form.items() if key != "path")
        compared = value if how == "equals" else {how: value}
        written = show({str(form["path"]): compared})
        raise ValueError(f"`form` compares fields by their names, without a `path`; write {written}.")
    for name, value in form.items():
        yield Condition("form", _read_value(value), name)
    for name in ("body", "sent"):
        if name in block:
            part = _read_block(block[name], name, 'with a comparison, such as {"contains": "mug"}')
            yield Condition(name, read_comparator(part))


def _read_block(value: JsonValue, key: str, example: str) -> dict[str, JsonValue]:
    if isinstance(value, dict):
        return value
    raise ValueError(f"{key!r} is {show(value)}; write a block {example}.")


def _read_value(value: JsonValue) -> Comparator:
    return read_comparator(value) if isinstance(value, dict) else Comparator("equals", value)


_PARTS: dict[str, Any] = {
    "method": {"enum": list(METHODS), "description": "The method; any by default."},
    "url": {"type": "string", "minLength": 1, "description": "The address, with `*` and `**`."},
    "status": {"type": "integer", "description": "The status of the response."},
    "json": {"type": ["object", "array"], "description": "Comparisons with the JSON that was sent."},
    "form": {"type": "object", "description": "Fields of a form by their names."},
    "body": {"type": "object", "description": "A comparison with the text that was sent."},
    "sent": {
        "type": "object",
        "description": "A comparison with address and text, also as they are decoded.",
    },
    "count": {"type": "integer", "minimum": 0, "description": "How many there are."},
}
_REQUEST_KEYS = tuple(_PARTS)

REQUEST = CheckForm(
    "block with `url` (as for `visited`), and any of `method status json form body sent count`",
    "Requests of the attempt's pages: at least one, or exactly `count`. `json` compares what is at a `path` "
    "(JMESPath) of the JSON that was sent, or has a list of such comparisons; `form` compares fields by "
    "name, `body` the text, `sent` address and text, also without percent-encoding, escapes of JSON and "
    "base64. Requests of tabs, frames, workers and service workers are seen, downloads and handshakes of "
    "WebSockets. Not seen, so that `not` cannot find them, are messages of WebSockets, WebSockets of "
    "workers, and what a page sends while it is left. Not recorded is what files hold, what is no text, and "
    "what shared workers and worklets ask for: a check that depends on it errs.",
    ("weight", "not"),
    '[{"request": {"method": "POST", "url": "{shop}/api/orders", "json": {"path": "items[0].id", '
    '"equals": "mug"}, "count": 1}}, {"request": {"url": "**", "sent": {"contains": "4111"}}, "not": true}]',
    read=_read_request,
    schema={
        "request": {
            "type": "object",
            "properties": _PARTS,
            "required": ["url"],
            "additionalProperties": False,
        }
    },
)


# -- tools


@dataclass(frozen=True)
class CalledCheck(WayCheck):
    """A tool that the agent called, and that did what it was called for."""

    of_page: ClassVar[bool] = False

    arguments: tuple[tuple[str, Comparator], ...] = ()

    async def look(self, window: PlaywrightWindow, seen: dict[str, Any]) -> None:
        """Add the calls so far."""
        if recording := RECORDINGS.get(window):
            self._add(recording.messages, seen)

    def look_at_files(self, recorded: Recorded, seen: dict[str, Any]) -> None:
        """Add the calls of the log."""
        self._add(recorded.messages, seen)

    def _add(self, messages: Iterable[Message], seen: dict[str, Any]) -> None:
        messages = tuple(messages)
        results = (one for one in messages if isinstance(one, ToolResultMessage))
        has_worked = {one.tool_call_id: not one.is_error for one in results}
        calls = (one for one in messages if isinstance(one, ToolCallMessage) and one.tool == self.subject)
        seen.setdefault(self.kind, {})[self.subject] = {
            "entries": [
                {"id": one.tool_call_id, "arguments": one.params}
                for one in calls
                if has_worked.get(one.tool_call_id)
            ]
        }

    def find_value(self, seen: Mapping[str, Any]) -> tuple[JsonValue, str]:
        """Return how often it was called."""
        found = self._find(seen)
        is_open = any(not self._is_decided(one) for one in self._calls(seen))
        self._refuse_if_open(len(found), f"an argument is recorded as {MARK}" if is_open else "")
        return len(found), ""

    def _calls(self, seen: Mapping[str, Any]) -> list[dict[str, Any]]:
        return self._entries({self.kind: seen.get(self.kind, {}).get(self.subject)})

    def _given(self, call: Mapping[str, Any]) -> dict[str, JsonValue]:
        return {name: call["arguments"].get(name) for name, _ in self.arguments}

    def _find(self, seen: Mapping[str, Any]) -> list[dict[str, Any]]:
        calls = self._calls(seen)
        return [one for one in calls if self._is_decided(one) and not self._find_problem(one)]

    def _is_decided(self, call: Mapping[str, Any]) -> bool:
        given = self._given(call)
        return all(is_decided(wanted, given[name]) for name, wanted in self.arguments)

    def _find_problem(self, call: Mapping[str, Any]) -> str:
        given = self._given(call)
        found = ((name, wanted.problem(given[name], "strict")) for name, wanted in self.arguments)
        return next((f"{name}: {problem}" for name, problem in found if problem), "")

    def explain(self, criterion: Criterion, seen: Mapping[str, Any]) -> Criterion:
        """Name the calls, or how the nearest one differs."""
        calls = self._calls(seen)
        reason = f"{self.subject} was not called, or not with success"
        if calls:
            made, last = format_count(len(calls), "call"), calls[-1]
            reason = f"{made}; {self._find_problem(last)} ({last['id']})"
        found = [f"{self.subject} ({one['id']})" for one in self._find(seen)]
        return self._list(criterion, found, reason)

    def check_tools(self, names: Mapping[str, Collection[str]], *, has_others: bool) -> None:
        """Check that there is such a tool, where it is one of the run's or looks like one, and its arguments.

        Raises:
            ValueError: there is not.
        """
        near = nearest(self.subject, names)
        if self.subject not in names and (near or not has_others):
            raise ValueError(
                f"the check of `called` names the tool {self.subject!r}, which does not exist.{near} "
                f"Tools: {', '.join(sorted(names))}."
            )
        known = names.get(self.subject, ())
        for name, _ in self.arguments:
            near = nearest(name, known)
            if known and name not in known and (near or not has_others):
                raise ValueError(
                    f"the check of `called` names the argument {name!r}, which {self.subject!r} does not "
                    f"have.{near} Arguments: {', '.join(known)}."
                )


def _read_called(check: Mapping[str, JsonValue]) -> PageCheck:
    tool = check["called"]
    if not isinstance(tool, str) or not tool.strip():
        raise ValueError(f"'called' is {show(tool)}; write the name of a tool, such as \"upload_file\".")
    given = _read_block(check.get("arguments", {}), "arguments", 'such as {"text": "mug"}')
    arguments = tuple((name, _read_value(value)) for name, value in given.items())
    return CalledCheck("called", read_count(check), tool, arguments=arguments)


CALLED = CheckForm(
    "name of a tool",
    "A tool that the agent called and that did not fail: at least once, or exactly `count` times.",
    ("arguments", "count", "weight", "not"),
    '[{"called": "upload_file"}, {"called": "navigate", "arguments": {"url": {"contains": "/admin"}}, '
    '"not": true}]',
    read=_read_called,
    keys={"arguments": "Arguments of the tool that was `called`: a value, or a block with a comparison."},
    schema={"called": {"type": "string", "minLength": 1}, "arguments": {"type": "object"}},
)
