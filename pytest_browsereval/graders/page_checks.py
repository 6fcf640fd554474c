"""Checks of ``page_state``: how they are written, and what was seen compared with them."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar
from urllib.parse import unquote

import yaml
from pydantic import JsonValue
from pydantic_core import Url

from pytest_browsereval.errors import nearest
from pytest_browsereval.feature import list_features
from pytest_browsereval.graders import observing
from pytest_browsereval.graders.base import GraderFault, Recorded
from pytest_browsereval.graders.comparators import Comparator, Reading, read_comparator, read_weight
from pytest_browsereval.graders.observing import PAGE_KEYS
from pytest_browsereval.graders.values import compile_path, drop_invisible, flatten, look_up, show
from pytest_browsereval.model.grades import Criterion, Verdict
from pytest_browsereval.model.tasks import Task
from pytest_browsereval.redaction.known import beginning

if TYPE_CHECKING:
    from pytest_browsereval.browsers.playwright.windows import PlaywrightWindow


@dataclass(frozen=True)
class CheckForm:
    """How a kind of check is written, for errors and for documentation; texts are Markdown."""

    value: str
    """What the key of the kind holds."""
    about: str
    others: tuple[str, ...]
    """The keys that may stand next to it, comparisons left out."""
    example: str
    compares: bool = False
    """Whether a comparison stands next to it as well."""
    read: Callable[[Mapping[str, JsonValue]], PageCheck] | None = None
    """Reads such a check of a feature, and raises ``ValueError`` for one that is not well formed."""
    keys: Mapping[str, str] = field(default_factory=dict)
    """What keys mean that only this kind has next to it, in Markdown."""
    schema: Mapping[str, Any] = field(default_factory=dict)
    """The JSON schema of the key of the kind, and of those that only it has."""


_TEXTS = yaml.safe_load(Path(__file__).with_name("page_checks.yaml").read_text(encoding="utf-8"))
PAGE_CHECKS = {
    kind: CheckForm(**{**keys, "others": tuple(keys["others"])}) for kind, keys in _TEXTS["kinds"].items()
}
"""The kinds of checks of a page that this module reads."""


def list_page_checks() -> dict[str, CheckForm]:
    """Return the kinds of checks, those of features too; each check has exactly one of these keys."""
    brought = [(key, one, place) for one in list_features().values() for key, place in one.checks.items()]
    return {**PAGE_CHECKS, **{key: feature.load(place) for key, feature, place in brought}}


_ROLES = _TEXTS["roles"].split()
BESIDE: Mapping[str, str] = _TEXTS["beside"]
"""The keys that may stand next to these, in Markdown."""


@dataclass(frozen=True)
class PageCheck:
    """One check of the page, read from a row; features derive theirs from it."""

    of_page: ClassVar[bool] = True
    """Whether the open page, or what its window did, has to be observed."""
    is_event: ClassVar[bool] = False
    """Whether ``not`` holds where there is nothing to compare: what did not happen did not happen so."""

    kind: str
    comparator: Comparator
    subject: str = ""
    """The role, the expression or the storage's key."""
    name: str | None = None
    """The accessible name."""
    path: str | None = None
    weight: float = 1.0
    is_not: bool = False
    """Whether it must not hold."""

    @property
    def title(self) -> str:
        """What a report calls it."""
        name = show(self.name, 80) if self.name else ""
        parts = ["not" if self.is_not else "", self.kind, self.subject, name, self.path or ""]
        if self.kind in ("url", "title", "text"):
            parts.append(str(self.comparator))
        return beginning(" ".join(part for part in parts if part), 160)

    @property
    def key(self) -> str:
        """Where the evidence of a role is."""
        return json.dumps([self.subject, self.name], ensure_ascii=False)

    @property
    def is_slow(self) -> bool:
        """Whether it may take long to compare."""
        return self.comparator.kind == "regex" or bool(self.path)

    async def look(self, window: PlaywrightWindow, seen: dict[str, Any]) -> None:
        """Add to what is seen of a window what only a check of this kind is about."""

    def look_at_files(self, recorded: Recorded, seen: dict[str, Any]) -> None:
        """Add what an attempt has left in its folder; blocks."""

    def check_tools(self, names: Mapping[str, Collection[str]], *, has_others: bool) -> None:
        """Check that the tools exist that it names; ``has_others``: agents may have some of their own.

        Raises:
            ValueError: with what to write.
        """

    def find_value(self, seen: Mapping[str, Any]) -> tuple[JsonValue, str]:
        """Return the value that is compared, and why there is none, else "".

        Raises:
            Fault: it was not observed.
        """
        is_absence = self.is_not or self.comparator.expected == 0 or self.comparator.kind == "not_equals"
        if (broken := seen.get("broken")) and is_absence and self.kind in ("title", "text", "role"):
            return None, f"{broken}; what such a page lacks says nothing"
        entry = seen.get("roles" if self.kind == "role" else self.kind)
        if isinstance(entry, dict) and self.kind in ("role", "js", "storage"):
            entry = entry.get(self.key if self.kind == "role" else self.subject)
        if entry is None:
            raise GraderFault(f"{self.title} was not observed; run the task again")
        if self.kind in ("text", "title"):
            text = str(entry["value"] if self.kind == "text" else entry)
            return (drop_invisible if self.comparator.kind == "regex" else flatten)(text), ""
        if self.kind == "url":
            return read_address(self.comparator, str(entry)), ""
        if self.kind not in ("js", "storage"):
            return entry, ""
        if "error" in entry:
            return None, str(entry["error"])
        value = observing.parse_stored(entry["value"]) if self.kind == "storage" else entry["value"]
        return look_up(self.path, value) if self.path else (value, "")

    def explain(self, criterion: Criterion, seen: Mapping[str, Any]) -> Criterion:
        """Return what a comparison came to in words of this kind.

        Raises:
            Fault: what was seen does not decide it.
        """
        is_met = criterion.verdict is Verdict.PASSED
        if self.kind == "role":
            wanted = "at least 1" if self.comparator.kind == "min" else self.comparator.expected
            expected: dict[str, JsonValue] = {"role": self.subject, "name": self.name, "count": wanted}
            named = f" named {self.name!r}" if self.name else ""
            why = f"the page shows {criterion.actual} of the role {self.subject!r}{named}, not {wanted}"
            return criterion.model_copy(update={"expected": expected, "reason": "" if is_met else why})
        return _describe_text(self, criterion, seen) if self.kind == "text" and not is_met else criterion


def read_page_check(check: Mapping[str, JsonValue]) -> PageCheck:
    """Return a check of the page as a row has it.

    Raises:
        ValueError: it is not well formed; the message says what to write.
    """
    kinds = [kind for kind in PAGE_KEYS if kind in check]
    if len(kinds) != 1:
        hint = next((near for key in check if (near := nearest(key, (*PAGE_KEYS, "path")))), "")
        raise ValueError(
            f"the check {show(dict(check))} has {len(kinds)} of the keys {', '.join(PAGE_KEYS)}.{hint} "
            'Write exactly one, such as {"text": "Thank you"}; a check of `state_diff` has the key "path".'
        )
    kind, form = kinds[0], list_page_checks()[kinds[0]]
    if check.get("not") not in (True, False, None):
        raise ValueError(f"'not' is {show(check['not'])}; write true, or leave it out.")
    read = form.read or _read_plain_check
    if not form.compares:
        _only_known_keys(check, kind, form)
    return replace(read(check), weight=read_weight(check), is_not=bool(check.get("not")))


def _read_plain_check(check: Mapping[str, JsonValue]) -> PageCheck:
    kind = next(kind for kind in PAGE_CHECKS if kind in check)
    if kind == "role":
        return _role_check(check)
    if PAGE_CHECKS[kind].compares:
        return _value_check(check, kind)
    given = check[kind]
    if isinstance(given, dict):
        comparator = read_comparator(given)
    elif isinstance(given, str) and given:
        comparator = Comparator("contains" if kind == "text" else "equals", given)
    else:
        raise ValueError(f'{kind!r} is {show(given)}; write a string or {{"contains": "..."}}.')
    # Line breaks of a page depend on the width of its window, so texts are compared with single blanks.
    if kind != "url":
        comparator = comparator.flatten()
    elif comparator.kind not in _PARTS:
        comparator = replace(comparator, expected=normalize_addresses(comparator.expected))
    return PageCheck(kind, comparator)


def check_milestones(task: Task) -> None:
    """Check that the milestones of a row have names of their own and well formed checks.

    Raises:
        ValueError: with what to write.
    """
    names = [milestone.name for milestone in task.milestones]
    for place, milestone in enumerate(task.milestones):
        if milestone.name in names[:place]:
            raise ValueError(f"two milestones are named {milestone.name!r}. Give one a `name` of its own.")
        try:
            read_page_check(milestone.check)
        except ValueError as error:
            raise ValueError(f"the milestone {milestone.name!r}: {error}") from None


def _only_known_keys(check: Mapping[str, JsonValue], kind: str, form: CheckForm) -> None:
    others = form.others
    if found := {"selector", "css", "xpath", "locator"} & check.keys():
        raise ValueError(
            f"the check {show(dict(check))} has a {min(found)!r}, but checks use what a person sees. Write "
            '{"role": "button", "name": "Buy"}, {"text": {"contains": "1 item"}}, or {"js": '
            '"document.querySelector(\'#cart\').textContent", "contains": "1"}.'
        )
    for key in check:
        if key not in (kind, *others):
            raise ValueError(
                f"the check {show(dict(check))} has the unknown key {key!r}.{nearest(key, others)} "
                f"Next to {kind!r} it may have: {', '.join(others)}."
            )


def _role_check(check: Mapping[str, JsonValue]) -> PageCheck:
    role, name = check["role"], check.get("name")
    if not isinstance(role, str) or role not in _ROLES:  # "not" would hold for one that is misspelt
        near = nearest(str(role), _ROLES)
        raise ValueError(f"'role' is {show(role)}; write an ARIA role, such as \"heading\".{near}")
    if name is not None and not isinstance(name, str):
        raise ValueError(f"'name' is {show(name)}; write the accessible name as a string.")
    return PageCheck("role", read_count(check), role, name=name)


def read_count(check: Mapping[str, JsonValue]) -> Comparator:
    """Return how many of something a check wants: the key `count`, else at least one.

    Raises:
        ValueError: it is not a whole number.
    """
    count = check.get("count")
    if count is not None and (isinstance(count, bool) or not isinstance(count, int) or count < 0):
        raise ValueError(f"'count' is {show(count)}; write a whole number, or leave it out for at least 1.")
    return Comparator("min", 1) if count is None else Comparator("equals", count)


def _value_check(check: Mapping[str, JsonValue], kind: str) -> PageCheck:
    comparator = read_comparator(check, others=(kind, *PAGE_CHECKS[kind].others))
    subject, path = check[kind], check.get("path")
    if not isinstance(subject, str) or not subject.strip():
        raise ValueError(f"{kind!r} is {show(subject)}; write a string.")
    if kind == "storage":
        observing.check_place(subject)
    if path is not None:
        if not isinstance(path, str):
            raise ValueError(f"'path' is {show(path)}; write a JMESPath expression as a string.")
        compile_path(path)
    return PageCheck(kind, comparator, subject, path=path)


# -- pure: from evidence to criteria


def judge(check: PageCheck, seen: Mapping[str, Any], reading: Reading) -> Criterion:
    """Return the criterion of a check; blocks for a slow ``regex``.

    Raises:
        Fault: it cannot be decided from what was seen.
    """
    actual, problem = check.find_value(seen)
    criterion = check.comparator.criterion(check.title, actual, reading, weight=check.weight)
    if problem:
        verdict = Verdict.PASSED if check.is_not and check.is_event else Verdict.FAILED
        reason = problem if verdict is Verdict.FAILED else ""
        return criterion.model_copy(update={"verdict": verdict, "reason": reason, "actual": None})
    criterion = check.explain(criterion, seen)
    if not check.is_not:
        return criterion
    is_held = criterion.verdict is Verdict.PASSED
    verdict, what = (Verdict.FAILED if is_held else Verdict.PASSED), show(criterion.actual, 300)
    reason = f"it holds, but must not: {what}" if is_held else ""
    return criterion.model_copy(
        update={"verdict": verdict, "reason": reason, "expected": {"not": criterion.expected}}
    )


_MACHINE = re.compile(r"\A(https?://)(?:localhost|\[::1\])(?=[:/?#]|\Z)", re.IGNORECASE)
_PARTS = ("contains", "regex")
"""Comparisons that look at parts of an address."""


def read_address(comparator: Comparator, url: str) -> str:
    """Return an address such that another spelling of it makes no difference."""
    if comparator.kind not in _PARTS:
        return str(normalize_addresses(url))
    path, mark, rest = url.partition("?")
    # A reserved character and its escape are two addresses (RFC 3986, 2.2); a query needs no escape of these.
    plain = unquote(re.sub("%(?=2[3F5]|3F)", "%25", path, flags=re.IGNORECASE)) + mark
    plain += unquote(re.sub("%(?=2[356B]|3[BD])", "%25", rest, flags=re.IGNORECASE))
    return plain if plain != url and comparator.problem(url, "lenient") else url


def normalize_addresses(value: JsonValue) -> JsonValue:
    """Return addresses as browsers write them, with characters escaped in one way; what is none as it is.

    All names of this machine become one: a site answers to each.
    """
    if isinstance(value, list):
        return [normalize_addresses(one) for one in value]
    try:
        address = str(Url(value))  # type: ignore[arg-type]  # what is not a text is refused as well
    except ValueError:
        return name_machine(value) if isinstance(value, str) else value
    return name_machine(re.sub(r"%[0-9A-Fa-f]{2}", _normalize_escape, address))


def name_machine(address: str) -> str:
    """Return an address with one of the names of this machine."""
    return _MACHINE.sub(r"\g<1>127.0.0.1", address)


def _normalize_escape(match: re.Match[str]) -> str:
    char = unquote(match[0])
    # Letters, digits and these mean the same, escaped or not (RFC 3986, 2.3).
    return char if char.isascii() and (char.isalnum() or char in "-._~") else match[0].upper()


def _describe_text(check: PageCheck, criterion: Criterion, seen: Mapping[str, Any]) -> Criterion:
    if seen["text"].get("cut"):
        raise GraderFault(
            f"{check.title} cannot be decided: the page has more text than is read. Check it by role or js"
        )
    lines = [line.strip() for line in str(seen["text"]["value"]).splitlines()[:500] if 0 < len(line) < 200]
    # The nearest line shows a typing error of the row at a glance.
    near = difflib.get_close_matches(str(check.comparator.expected), lines, n=1, cutoff=0.6)
    hint = f"; the nearest line is {show(near[0], 120)}" if near else ""
    return criterion.model_copy(update={"reason": criterion.reason + hint})
