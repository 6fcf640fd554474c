"""Compares recorded requests with the row: ``NetworkEventEvaluator``, and the paths into them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict, JsonValue

from pytest_browsereval.benchmarks.webarena.verified import comparing
from pytest_browsereval.benchmarks.webarena.verified.addresses import Address, Reading, read_address
from pytest_browsereval.benchmarks.webarena.verified.events import Event
from pytest_browsereval.benchmarks.webarena.verified.texts import is_pattern, matches, names
from pytest_browsereval.graders.patterns import check_pattern
from pytest_browsereval.graders.values import read_json
from pytest_browsereval.model.grades import Criterion
from pytest_browsereval.redaction.known import beginning

NAME = "NetworkEventEvaluator"

_COOKIE = re.compile(r"([\w.-]+)=")


class ExpectedEvent(BaseModel):
    """What a row expects of a request."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    url: str | list[str]
    headers: dict[str, str | list[str]] | None = None
    query_params: dict[str, list[JsonValue]] | None = None
    post_data: dict[str, JsonValue] | None = None
    response_content: dict[str, JsonValue] | None = None
    response_status: int = 200
    http_method: str = "GET"
    response_cookies: dict[str, str] | None = None

    @property
    def urls(self) -> list[str]:
        """The addresses any of which will do."""
        return _texts(self.url)


class TrafficRules(BaseModel):
    """One ``NetworkEventEvaluator`` of a row."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    evaluator: str = NAME
    expected: ExpectedEvent
    last_event_only: bool = True
    ignored_query_params: tuple[str, ...] = ()
    ignored_query_params_patterns: tuple[str, ...] = ()
    decode_base64_query: bool = False
    query_params_schema: dict[str, JsonValue] | None = None
    post_data_schema: dict[str, JsonValue] | None = None
    ignored_post_data_params_patterns: tuple[str, ...] = ()
    should_not_exist: bool = False

    # -- before anything is spent

    def check(self) -> None:
        """Check that the expectation can be read.

        Raises:
            ValueError: with what is wrong.
        """
        for schema in (self.query_params_schema, self.post_data_schema):
            comparing.check_schema(schema)
        for pattern in (*self.ignored_query_params_patterns, *self.ignored_post_data_params_patterns):
            check_pattern(pattern)
        for key in (*(self.expected.post_data or ()), *(self.expected.response_content or ())):
            if is_path(key):
                check_path(key)
        self._read_expected()
        for address in (*self._addresses(), *self._referers()):
            if address.is_pattern:
                check_pattern(address.base)

    @property
    def reads_replies(self) -> bool:
        """Whether it looks at what a site replied."""
        return bool(self.expected.response_content)

    @property
    def cookies(self) -> frozenset[str]:
        """The names of cookies that it looks at."""
        headers = (self.expected.headers or {}).items()
        sent = [text for name, value in headers if name.lower() == "cookie" for text in _texts(value)]
        named = _COOKIE.findall(" ".join(sent))
        return frozenset([*named, *(self.expected.response_cookies or ())])

    # -- the expectation

    def _reading(self, read: Any) -> Reading:
        schema = self.query_params_schema
        return Reading(
            self.ignored_query_params,
            self.ignored_query_params_patterns,
            decodes_base64=self.decode_base64_query,
            typed=(lambda query: read(dict(query), schema)) if schema else None,
        )

    def _addresses(self) -> list[Address]:
        reading, query = self._reading(comparing.read_expected), self.expected.query_params
        return [read_address(url, reading, query=query) for url in self.expected.urls]

    def _referers(self) -> list[Address]:
        given = (self.expected.headers or {}).get("referer", [])
        return [read_address(url, self._reading(comparing.read_expected)) for url in _texts(given)]

    def _read_expected(self) -> dict[str, Any]:
        """Return what is compared besides the address."""
        wanted = self.expected
        found: dict[str, Any] = {"http_method": wanted.http_method, "response_status": wanted.response_status}
        texts = {"headers": wanted.headers, "response_cookies": wanted.response_cookies}
        for key, given in texts.items():
            found[key] = {
                name: comparing.read_expected_value(comparing.TEXT, value)
                for name, value in (given or {}).items()
                if (key, name) != ("headers", "referer")
            }
        if wanted.post_data:
            kept = self._count(wanted.post_data)
            found["post_data"] = comparing.read_expected(kept, self.post_data_schema or {"type": "object"})
        if wanted.response_content:
            found["response_content"] = wanted.response_content
        return found

    def _count(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        ignored = self.ignored_post_data_params_patterns
        return {k: v for k, v in fields.items() if not any(names(pattern, k) for pattern in ignored)}

    # -- the traffic

    def criterion(self, events: Sequence[Event], *, is_navigation: bool) -> Criterion:
        """Return whether the expected request was made; blocks for patterns.

        Args:
            events: what was requested, in order.
            is_navigation: whether the task is to show a page: then the last page that was asked for counts.

        Raises:
            Fault: a pattern takes too long.
        """
        candidates = self._candidates(events, is_navigation=is_navigation)
        wanted = self.expected.model_dump(mode="json", exclude_none=True)
        name = beginning(f"{self.expected.http_method} {' or '.join(self.expected.urls)}", 160)
        if self.should_not_exist:
            message = f"{len(candidates)} such requests were made, and none should be" if candidates else ""
            return _criterion(f"no {name}", wanted, message)
        if not candidates:
            return _criterion(name, wanted, "no such request was made")
        problems: list[str] = []
        # An agent may correct a form that it sent wrongly before.
        for event in candidates[-1:] if self.last_event_only else candidates:
            problems = self._problems(event)
            if not problems:
                return _criterion(name, wanted, "", event)
        return _criterion(name, wanted, "; ".join(problems), candidates[-1])

    def _candidates(self, events: Sequence[Event], *, is_navigation: bool) -> list[Event]:
        if is_navigation and self.expected.http_method == "GET":
            # What the agent shows at the end counts, not what it passed on its way.
            return [event for event in events if event.is_navigation][-1:]
        addresses = self._addresses()
        referers = self._referers()
        method = self.expected.http_method.lower()
        return [
            event
            for event in events
            if event.method.lower() == method
            and self._is_at(event.url, addresses)
            # A request that names no referer may have come from anywhere.
            and (not (given := event.headers.get("referer")) or not referers or self._is_at(given, referers))
        ]

    def _is_at(self, url: str, addresses: Sequence[Address]) -> bool:
        seen = self._read_seen_address(url)
        return seen is not None and any(address.same_path(seen) for address in addresses)

    def _read_seen_address(self, url: str) -> Address | None:
        try:
            return read_address(url, self._reading(comparing.read_seen))
        except ValueError:
            return None

    def _problems(self, event: Event) -> list[str]:
        is_there = self._has_address(event.url, self._addresses())
        found = [] if is_there else [f"it went to {beginning(event.url, 300)}"]
        headers = self.expected.headers or {}
        given = event.headers.get("referer", "")
        if "referer" in headers and not self._has_address(given, self._referers()):
            asked = " or ".join(_texts(headers["referer"]))
            found.append(f"referer is {beginning(given, 300)!r}, not {asked!r}")
        sent = None
        if event.sent:
            fields = _pick(self._count(event.sent), self.expected.post_data or {}, fills=True)
            sent = comparing.read_seen(fields, self.post_data_schema or {"type": "object"})
        seen: dict[str, Any] = {
            "http_method": event.method,
            "response_status": event.status,
            "headers": _read_texts({name: event.headers.get(name.lower()) for name in headers}),
            "post_data": sent,
            "response_content": _pick(event.replied, self.expected.response_content or {}),
            "response_cookies": _read_texts(event.cookies),
        }
        return found + comparing.differences(self._read_expected(), seen, comparing.How(extra_keys=True))

    def _has_address(self, url: str, addresses: Sequence[Address]) -> bool:
        seen = self._read_seen_address(url)

        def same(one: Any, other: Any) -> bool:
            return not comparing.differences(one, other)

        return seen is not None and any(a.same_path(seen) and a.same_query(seen, same) for a in addresses)


def _texts(value: str | list[str]) -> list[str]:
    return [value] if isinstance(value, str) else value


def _read_texts(given: Mapping[str, str | None]) -> dict[str, Any]:
    kept = {name: value for name, value in given.items() if value is not None}
    return {name: comparing.read_seen_value(comparing.TEXT, value) for name, value in kept.items()}


def _pick(
    data: Mapping[str, Any] | None, keys: Mapping[str, Any], *, fills: bool = False
) -> dict[str, Any] | None:
    """Return what a row looks at: plain keys and paths; ``fills`` gives None for a key that is missing."""
    if not data:
        return None
    found: dict[str, Any] = {}
    for key in keys:
        if is_path(key):
            found[key] = value_at(data, key)
        elif key in data or fills:
            found[key] = data.get(key)
    return found


def _criterion(name: str, expected: JsonValue, problem: str, event: Event | None = None) -> Criterion:
    actual = f"{event.method} {beginning(event.url, 300)} -> {event.status}" if event else None
    return comparing.make_criterion(name, expected, actual, problem)


# -- the JSONPath that rows use to name a value inside a request or reply

_STEP = re.compile(
    r"\.(?P<name>[\w-]+)|\[(?P<index>\d+)\]|\['(?P<quoted>[^']+)'\]"
    r"|\[\?\(@\.(?P<key>[\w-]+)\s*==\s*(?P<value>-?\d+)\)\]"
)


def is_path(key: str) -> bool:
    """Return whether a key of a row names a value inside, or matches keys, and is not a plain key."""
    return key.startswith("$") or is_pattern(key)


def check_path(key: str) -> None:
    """Refuse a path that is not understood.

    Raises:
        ValueError: with the path and what is understood.
    """
    pattern = _key_pattern(key)
    if pattern is not None:
        check_pattern(pattern)
        return
    place = 1
    while place < len(key):
        found = _STEP.match(key, place)
        if found is None:
            known = "$.name, ['name'], [0] and [?(@.name == 1)]"
            raise ValueError(
                f"the path {key!r} is not understood from {key[place:]!r} on. Understood: {known}."
            )
        place = found.end()


def _key_pattern(key: str) -> str | None:
    if key.startswith("$.^") and key.endswith("$"):
        return key[2:]
    return key if is_pattern(key) else None


def value_at(data: Mapping[str, Any], key: str) -> Any:
    """Return the value at a path, a list of several ones, None for none.

    Texts that are JSON are looked into where the path leads nowhere else.
    """
    pattern = _key_pattern(key)
    if pattern is not None:
        found = [value for name, value in data.items() if matches(pattern, name, whole=False)]
    else:
        steps = list(_STEP.finditer(key, 1))
        found = _walk([data], steps) or _walk([_open(data)], steps)
    if not found:
        return None
    return found[0] if len(found) == 1 and "?(" not in key else found


def _walk(values: list[Any], steps: list[re.Match[str]]) -> list[Any]:
    for step in steps:
        values = [inner for value in values for inner in _take(value, step)]
    return values


def _take(value: Any, step: re.Match[str]) -> list[Any]:
    name = step["name"] or step["quoted"]
    if name is not None:
        return [value[name]] if isinstance(value, Mapping) and name in value else []
    if step["index"] is not None:
        place = int(step["index"])
        return [value[place]] if isinstance(value, list) and place < len(value) else []
    items, wanted = value if isinstance(value, list) else (), int(step["value"])
    return [item for item in items if isinstance(item, Mapping) and item.get(step["key"]) == wanted]


def _open(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            key: read_json(part, part) if isinstance(part, str) else _open(part)
            for key, part in value.items()
        }
    return [_open(part) for part in value] if isinstance(value, list) else value
