"""``visited``, ``request`` and ``called``: what happened on the way."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
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

    def find_value(self, seen: Mapping[str, Any]) -> tuple[JsonValue, str]:
        """Return how often it happened.

        Raises:
            Fault: what is not known could make a difference.
        """
        found, why = self._find(seen), self._find_open(seen)
        if why and not (self.comparator.kind == "min" and found):
            raise GraderFault(f"whether {self.title} holds is not known: {why}")
        return len(found), ""

    def explain(self, criterion: Criterion, seen: Mapping[str, Any]) -> Criterion:
        """Name what was found, or how the nearest differs."""
        found = self._find(seen)
        listed = join_first(found, MOST_LISTED)
        reason = f"{format_count(len(found), 'time')}, not {self.comparator.expected}: {listed}"
        reason = "" if criterion.verdict is Verdict.PASSED else reason if found else self._describe_miss(seen)
        return criterion.model_copy(update={"actual": listed or None, "reason": reason})

    def _find(self, seen: Mapping[str, Any]) -> list[str]:
        """Return what was found, in words."""
        raise NotImplementedError

    def _find_open(self, seen: Mapping[str, Any]) -> str:
        """Return why it is not known how often it happened; empty if it is."""
        return "more happened than was kept" if seen[self.kind]["dropped"] else ""

    def _describe_miss(self, seen: Mapping[str, Any]) -> str:
        """Return why nothing was found."""
        raise NotImplementedError


# -- addresses


@dataclass(frozen=True)
class VisitedCheck(WayCheck):
    """An address that a tab showed."""

    def _find(self, seen: Mapping[str, Any]) -> list[str]:
        shown = (one for one in self._entries(seen) if matches_address(self.subject, one["url"]))
        return [f"{one['url']} ({_when(one)})" for one in shown]

    def _describe_miss(self, seen: Mapping[str, Any]) -> str:
        urls = dict.fromkeys(one["url"] for one in self._entries(seen))
        return f"it was not shown{_name_nearest(self.subject, urls)}"


def _when(entry: Mapping[str, Any]) -> str:
    return f"step {entry['step']}" if entry["step"] else "before the first step"


def _name_nearest(wanted: str, known: Iterable[str]) -> str:
    near = difflib.get_close_matches(wanted, [one[:500] for one in known], n=1, cutoff=0.3)
    return f"; the nearest is {near[0]}" if near else ""


VISITED = CheckForm(
    "address, in which `*` stands for any characters but a slash, and `**` for any",
    "An address that a tab showed at any moment of the attempt: the start page, where links, forms and "
    "scripts led, and what a page without a reload calls its address, but no address that only redirects.",
    ("count", "weight", "not"),
    '[{"visited": "{shop}/cart*"}, {"visited": "{shop}/admin/**", "not": true}]',
    read=lambda check: VisitedCheck("visited", read_count(check), check_address(check["visited"], "visited")),
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

    def _find(self, seen: Mapping[str, Any]) -> list[str]:
        return [str(one) for one in self.pattern.find(self._requests(seen))]

    def _find_open(self, seen: Mapping[str, Any]) -> str:
        lost = next((one for one in self._requests(seen) if self.pattern.is_open(one)), None)
        if lost is not None and lost.is_answer_known:
            return f"what {lost} sent was not recorded: it has a file, is not text or exceeds 64 KB"
        if lost is not None:
            return f"how {lost} was answered was not recorded"
        unseen = seen[self.kind].get("unseen")
        return f"{unseen} ran, and its requests are not seen" if unseen else super()._find_open(seen)

    def _describe_miss(self, seen: Mapping[str, Any]) -> str:
        pattern, requests = self.pattern, self._requests(seen)
        if alike := [one for one in requests if pattern.is_for(one)]:
            last, made = alike[-1], format_count(len(alike), pattern.method or "request")
            return f"{made} to {last.url}; the last one {pattern.find_problem(last)} ({last.when})"
        names = [f"{one.method} {one.url}" for one in requests]
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
        example = 'write {"sku": "mug"} or {"sku": {"contains": "mug"}}'
        raise ValueError(f"`form` compares fields by their names, without a `path`; {example}.")
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
    "name: where one has several values, one of them, or all by `set_equals`; `body` the text, `sent` the "
    "address and text, also without percent-encoding, escapes of JSON and base64. Requests of tabs, frames, "
    "workers and service workers are seen, downloads and handshakes of WebSockets; what a service worker "
    "passes on counts once if its body is text that is seen. Not seen, so that `not` cannot find them, are "
    "messages of WebSockets, what WebSockets of workers send, and what a page sends while it is left. Not "
    "recorded is what files hold, what is not text, and what shared workers and worklets ask for: a check "
    "that depends on it is errored.",
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

    def _add(self, messages: Sequence[Message], seen: dict[str, Any]) -> None:
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

    def _calls(self, seen: Mapping[str, Any]) -> list[dict[str, Any]]:
        return self._entries({self.kind: seen.get(self.kind, {}).get(self.subject)})

    def _find(self, seen: Mapping[str, Any]) -> list[str]:
        calls = (one for one in self._calls(seen) if self._is_decided(one) and not self._find_problem(one))
        return [f"{self.subject} ({one['id']})" for one in calls]

    def _find_open(self, seen: Mapping[str, Any]) -> str:
        is_open = not all(map(self._is_decided, self._calls(seen)))
        return f"an argument is recorded as {MARK}" if is_open else ""

    def _is_decided(self, call: Mapping[str, Any]) -> bool:
        return all(is_decided(wanted, call["arguments"].get(name)) for name, wanted in self.arguments)

    def _find_problem(self, call: Mapping[str, Any]) -> str:
        given = call["arguments"]
        found = ((name, wanted.problem(given.get(name), "strict")) for name, wanted in self.arguments)
        return next((f"{name}: {problem}" for name, problem in found if problem), "")

    def _describe_miss(self, seen: Mapping[str, Any]) -> str:
        calls = self._calls(seen)
        if not calls:
            return f"{self.subject} was not called, or did not succeed"
        return f"{format_count(len(calls), 'call')}; {self._find_problem(calls[-1])} ({calls[-1]['id']})"

    def check_tools(self, names: Mapping[str, Collection[str]], *, has_others: bool) -> None:
        """Check that there is such a tool, where it is one of the run's or looks like one, and its arguments.

        Raises:
            ValueError: there is not.
        """
        asked = [
            ("tool", self.subject, names),
            *(("argument", name, names.get(self.subject, ())) for name, _ in self.arguments),
        ]
        for noun, name, known in asked:
            near = nearest(name, known)
            if known and name not in known and (near or not has_others):
                raise ValueError(
                    f"the check of `called` names the {noun} {name!r}, which does not exist.{near} "
                    f"Known: {', '.join(sorted(known))}."
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
