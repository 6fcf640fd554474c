"""Compares recorded requests with the row: ``NetworkEventEvaluator``, and the paths into them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

from pydantic import Field, JsonValue

from pytest_browsereval.benchmarks.webarena.verified import comparing
from pytest_browsereval.benchmarks.webarena.verified.addresses import Address, read_address
from pytest_browsereval.benchmarks.webarena.verified.comparing import TEXTS, Block, Schema
from pytest_browsereval.benchmarks.webarena.verified.events import Event
from pytest_browsereval.benchmarks.webarena.verified.texts import is_pattern, matches, names
from pytest_browsereval.graders.criteria import make_criterion
from pytest_browsereval.graders.patterns import check_pattern
from pytest_browsereval.graders.values import read_json
from pytest_browsereval.model.grades import Criterion
from pytest_browsereval.redaction.known import beginning

Read = Callable[[Any, Schema], Any]

_COOKIE = re.compile(r"([\w.-]+)=")


class ExpectedEvent(Block):
    """What a row expects of a request."""

    url: str | list[str]
    headers: dict[str, str | list[str]] = Field(default_factory=dict)
    query_params: dict[str, list[JsonValue]] | None = None
    post_data: dict[str, JsonValue] = Field(default_factory=dict)
    response_content: dict[str, JsonValue] = Field(default_factory=dict)
    response_status: int = 200
    http_method: str = "GET"
    response_cookies: dict[str, str] = Field(default_factory=dict)

    @property
    def urls(self) -> list[str]:
        """The addresses any of which will do."""
        return _texts(self.url)


class TrafficRules(Block):
    """One ``NetworkEventEvaluator`` of a row."""

    evaluator: Literal["NetworkEventEvaluator"] = "NetworkEventEvaluator"
    expected: ExpectedEvent
    last_event_only: bool = True
    ignored_query_params: tuple[str, ...] = ()
    ignored_query_params_patterns: tuple[str, ...] = ()
    decode_base64_query: bool = False
    query_params_schema: Schema | None = None
    post_data_schema: Schema = TEXTS
    ignored_post_data_params_patterns: tuple[str, ...] = ()
    should_not_exist: bool = False

    # -- before anything is spent

    def check(self) -> None:
        """Check that the expectation can be read.

        Raises:
            ValueError: with what is wrong.
        """
        for pattern in (*self.ignored_query_params_patterns, *self.ignored_post_data_params_patterns):
            check_pattern(pattern)
        for key in (*self.expected.post_data, *self.expected.response_content):
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
        headers = self.expected.headers.items()
        sent = [text for name, value in headers if name.lower() == "cookie" for text in _texts(value)]
        named = _COOKIE.findall(" ".join(sent))
        return frozenset([*named, *self.expected.response_cookies])

    # -- the expectation

    def _read_address(self, url: str, read: Read = comparing.read_expected, query: Any = None) -> Address:
        """Return an address with the parameters that count.

        Raises:
            ValueError: it is none, or a parameter that the row expects is of another type.
        """
        address = read_address(url, query=query, decodes_base64=self.decode_base64_query)
        patterns = self.ignored_query_params_patterns
        kept = {
            name: values
            for name, values in address.query.items()
            if name not in self.ignored_query_params
            and not any(names(pattern, name, ignore_case=True) for pattern in patterns)
        }
        schema = self.query_params_schema
        return replace(address, query=read(kept, schema) if schema else kept)

    def _addresses(self) -> list[Address]:
        return [self._read_address(url, query=self.expected.query_params) for url in self.expected.urls]

    def _referers(self) -> list[Address]:
        return [*map(self._read_address, _texts(self.expected.headers.get("referer", [])))]

    def _read_expected(self) -> dict[str, Any]:
        """Return what is compared besides the address."""
        wanted = self.expected
        headers = {name: value for name, value in wanted.headers.items() if name != "referer"}
        found: dict[str, Any] = {
            "http_method": wanted.http_method,
            "response_status": wanted.response_status,
            "headers": comparing.read_expected(headers, TEXTS),
            "response_cookies": comparing.read_expected(wanted.response_cookies, TEXTS),
        }
        if wanted.post_data:
            kept = self._count(wanted.post_data)
            found["post_data"] = comparing.read_expected(kept, self.post_data_schema)
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
        wanted = self.expected.model_dump(mode="json", exclude_unset=True)
        name = beginning(f"{self.expected.http_method} {' or '.join(self.expected.urls)}", 160)
        if self.should_not_exist:
            message = f"{len(candidates)} such requests were made, not none" if candidates else ""
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
        addresses, referers = self._addresses(), self._referers()
        method = self.expected.http_method.lower()
        found = [one for one in events if one.method.lower() == method]
        found = [one for one in found if self._is_at(one.url, addresses, by_path=True)]
        if not referers:
            return found
        # A request that names no referer may have come from anywhere.
        came = [(one, one.headers.get("referer")) for one in found]
        return [one for one, given in came if not given or self._is_at(given, referers, by_path=True)]

    def _is_at(self, url: str, addresses: Sequence[Address], *, by_path: bool = False) -> bool:
        """Return whether an address that was seen is one of some, with or without its parameters."""
        try:
            seen = self._read_address(url, comparing.read_seen)
        except ValueError:
            return False
        return any(
            one.same_path(seen) and (by_path or one.same_query(seen, comparing.are_same)) for one in addresses
        )

    def _problems(self, event: Event) -> list[str]:
        is_there = self._is_at(event.url, self._addresses())
        found = [] if is_there else [f"it went to {beginning(event.url, 300)}"]
        headers, given = self.expected.headers, event.headers.get("referer", "")
        if "referer" in headers and not self._is_at(given, self._referers()):
            asked = " or ".join(_texts(headers["referer"]))
            found.append(f"referer is {beginning(given, 300)!r}, not {asked!r}")
        sent_headers = {n: event.headers[n.lower()] for n in headers if n.lower() in event.headers}
        sent = event.sent and _pick(self._count(event.sent), self.expected.post_data, fills=True)
        seen: dict[str, Any] = {
            "http_method": event.method,
            "response_status": event.status,
            "headers": comparing.read_seen(sent_headers, TEXTS),
            "post_data": comparing.read_seen(sent or None, self.post_data_schema),
            "response_content": _pick(event.replied, self.expected.response_content),
            "response_cookies": comparing.read_seen(event.cookies, TEXTS),
        }
        return found + comparing.differences(self._read_expected(), seen, comparing.How(extra_keys=True))


def _texts(value: str | list[str]) -> list[str]:
    return [value] if isinstance(value, str) else value


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
    return make_criterion(name, beginning(problem, 1_000), expected=expected, actual=actual)


# -- the JSONPath that rows use to name a value inside a request or reply

_STEP = re.compile(
    r"\.(?P<name>[\w-]+)|\[(?P<index>\d+)\]|\['(?P<quoted>[^']+)'\]"
    r"|\[\?\(@\.(?P<key>[\w-]+)\s*==\s*(?P<value>-?\d+)\)\]"
)
_PATH = re.compile(rf"\$(?:{_STEP.pattern})*")


def is_path(key: str) -> bool:
    """Return whether a key of a row names a value inside, or matches keys, and is not a plain key."""
    return key.startswith("$") or is_pattern(key)


def check_path(key: str) -> None:
    """Refuse a path that is not understood.

    Raises:
        ValueError: with the path and what is understood.
    """
    if (pattern := _key_pattern(key)) is not None:
        check_pattern(pattern)
    elif not _PATH.fullmatch(key):
        known = "$.name, ['name'], [0] and [?(@.name == 1)]"
        raise ValueError(f"the path {key!r} is not understood. Understood: {known}.")


def _key_pattern(key: str) -> str | None:
    if key.startswith("$.^") and key.endswith("$"):
        return key[2:]
    return key if is_pattern(key) else None


def value_at(data: Mapping[str, Any], key: str) -> Any:
    """Return the value at a path, a list of several ones, None for none.

    Texts that are JSON are looked into.
    """
    if (pattern := _key_pattern(key)) is not None:
        found: list[Any] = [value for name, value in data.items() if matches(pattern, name, whole=False)]
    else:
        found = [data]
        for step in _STEP.finditer(key, 1):
            found = [inner for value in found for inner in _take(value, step)]
    if not found:
        return None
    return found[0] if len(found) == 1 and "?(" not in key else found


def _take(value: Any, step: re.Match[str]) -> list[Any]:
    value = read_json(value, value) if isinstance(value, str) else value
    name = step["name"] or step["quoted"]
    if name is not None:
        return [value[name]] if isinstance(value, Mapping) and name in value else []
    if step["index"] is not None:
        place = int(step["index"])
        return [value[place]] if isinstance(value, list) and place < len(value) else []
    items, wanted = value if isinstance(value, list) else (), int(step["value"])
    return [item for item in items if isinstance(item, Mapping) and item.get(step["key"]) == wanted]
