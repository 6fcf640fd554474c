"""``page_state``: what must hold on the page where the agent stopped."""

from __future__ import annotations

import asyncio
import difflib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Literal
from urllib.parse import unquote

from pydantic import Field, JsonValue
from pydantic_core import Url

from pytest_browsereval.browsers.base import Window
from pytest_browsereval.browsers.playwright.origins import cap_text
from pytest_browsereval.errors import nearest
from pytest_browsereval.graders import observing
from pytest_browsereval.graders.base import Golden, GraderConfig, GraderFault, Recorded
from pytest_browsereval.graders.comparators import Comparator, Reading, read_comparator, read_weight
from pytest_browsereval.graders.criteria import compute_share, list_failed, summarize
from pytest_browsereval.graders.observing import PAGE_KEYS, LivePage
from pytest_browsereval.graders.page_values import NoValue
from pytest_browsereval.graders.values import compile_path, drop_invisible, look_up, show
from pytest_browsereval.model.grades import Criterion, GraderResult, Verdict
from pytest_browsereval.model.tasks import Task
from pytest_browsereval.needs import ChecksRead, Needs
from pytest_browsereval.redaction.known import beginning


@dataclass(frozen=True)
class CheckForm:
    """How a kind of check is written, for errors and for documentation; texts are Markdown."""

    value: str
    """What the key of the kind holds."""
    about: str
    beside: tuple[str, ...]
    """The keys that may stand beside it."""
    example: str
    compares: bool = False
    """Whether a comparison stands beside it as well."""


PAGE_CHECKS = {
    "url": CheckForm(
        "text, or a block with one [comparison](#comparisons)",
        "The address of the page. A text has to be the whole address. `Köln` and `K%C3%B6ln` are alike, as "
        "are `{shop}` and `{shop}/`.",
        ("weight",),
        '[{"url": "{shop}/cart"}, {"url": {"contains": "order"}}]',
    ),
    "title": CheckForm(
        "text, or a block with one [comparison](#comparisons)",
        "The title of the page. A text has to be the whole title.",
        ("weight",),
        '[{"title": "Thank you"}, {"title": {"regex": "^Order [0-9]+$"}}]',
    ),
    "text": CheckForm(
        "text, or a block with one [comparison](#comparisons)",
        "The text of the page, as [`snapshot` and `read_text`](tools.md#the-text-of-a-page) see it. A text "
        "has to occur in it, as whole words; line breaks count as blanks, and what nobody sees, such as soft "
        "hyphens, is not there.",
        ("weight",),
        '[{"text": "2 items in cart"}]',
    ),
    "role": CheckForm(
        "role of ARIA, such as `heading`",
        "Elements of a role, as assistive technology sees them: at least one, with the accessible name "
        "`name` if that is given; exactly `count` of them if that is given. It takes no comparison: to look "
        "for a part of a text, use `text`.",
        ("name", "count", "weight"),
        '[{"role": "heading", "name": "Thank you"}, {"role": "listitem", "count": 3}]',
    ),
    "js": CheckForm(
        "expression in JavaScript",
        "What the expression has as its value on the page. `path`, a JMESPath expression, picks a part of "
        "it.",
        ("path", "weight"),
        '[{"js": "document.querySelectorAll(\'.todo.done\').length", "equals": 2}]',
        compares=True,
    ),
    "storage": CheckForm(
        "`local:KEY` or `session:KEY`",
        "An entry of the page's storage, read as JSON where it is JSON. `path`, a JMESPath expression, picks "
        "a part of it.",
        ("path", "weight"),
        '[{"storage": "local:cart", "path": "items[0].quantity", "equals": 2}]',
        compares=True,
    ),
}
"""The kinds of checks of a page; each check has exactly one of these keys."""

BESIDE = {
    "name": "The accessible name of the element with that `role`.",
    "count": "How many elements with that `role` and `name` there are; at least one by default.",
    "path": "A JMESPath expression into the value of `js` or `storage`, or into the state of `state_diff`.",
    "weight": "How much the check counts in the score; 1 by default.",
}
"""The keys that may stand beside these, in Markdown."""


@dataclass(frozen=True)
class PageCheck:
    """One check of the page, read from a row."""

    kind: str
    comparator: Comparator
    subject: str = ""
    """The role, the expression or the storage's key."""
    name: str | None = None
    """The accessible name."""
    path: str | None = None
    weight: float = 1.0

    @property
    def title(self) -> str:
        """What a report calls it."""
        parts = [self.kind, self.subject, show(self.name, 80) if self.name else "", self.path or ""]
        if self.kind in ("url", "title", "text"):
            parts.append(str(self.comparator))
        return beginning(" ".join(part for part in parts if part), 160)

    @property
    def key(self) -> str:
        """Where the evidence of a role is."""
        return json.dumps([self.subject, self.name], ensure_ascii=False)


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
    kind, weight = kinds[0], read_weight(check)
    if kind == "role":
        return _role_check(check, weight)
    if kind in ("js", "storage"):
        return _value_check(check, kind, weight)
    _only_known_keys(check, kind)
    given = check[kind]
    if isinstance(given, dict):
        comparator = read_comparator(given)
    elif isinstance(given, str) and given:
        comparator = Comparator("contains" if kind == "text" else "equals", given)
    else:
        raise ValueError(f'{kind!r} is {show(given)}; write a text or {{"contains": "..."}}.')
    # Line breaks of a page depend on the width of its window, so texts are compared with single blanks.
    if kind == "text" and isinstance(comparator.expected, str) and comparator.kind != "regex":
        comparator = replace(comparator, expected=" ".join(drop_invisible(comparator.expected).split()))
    if kind == "url" and comparator.kind not in _PARTS:
        comparator = replace(comparator, expected=_normalize_addresses(comparator.expected))
    return PageCheck(kind, comparator, weight=weight)


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


def _only_known_keys(check: Mapping[str, JsonValue], kind: str) -> None:
    beside = PAGE_CHECKS[kind].beside
    for key in check:
        if key not in (kind, *beside):
            raise ValueError(
                f"the check {show(dict(check))} has the unknown key {key!r}.{nearest(key, beside)} "
                f"Beside {kind!r} it may have: {', '.join(beside)}."
            )


def _role_check(check: Mapping[str, JsonValue], weight: float) -> PageCheck:
    _only_known_keys(check, "role")
    role, name, count = check["role"], check.get("name"), check.get("count")
    if not isinstance(role, str) or not role.isalpha():
        raise ValueError(f"'role' is {show(role)}; write a role of ARIA, such as \"heading\".")
    if name is not None and not isinstance(name, str):
        raise ValueError(f"'name' is {show(name)}; write the accessible name as a text.")
    if count is not None and (isinstance(count, bool) or not isinstance(count, int) or count < 0):
        raise ValueError(f"'count' is {show(count)}; write a whole number, or leave it out for at least 1.")
    comparator = Comparator("min", 1) if count is None else Comparator("equals", count)
    return PageCheck("role", comparator, role, name=name, weight=weight)


def _value_check(check: Mapping[str, JsonValue], kind: str, weight: float) -> PageCheck:
    comparator = read_comparator(check, beside=(kind, *PAGE_CHECKS[kind].beside))
    subject, path = check[kind], check.get("path")
    if not isinstance(subject, str) or not subject.strip():
        raise ValueError(f"{kind!r} is {show(subject)}; write a text.")
    if kind == "storage":
        observing.check_place(subject)
    if path is not None:
        if not isinstance(path, str):
            raise ValueError(f"'path' is {show(path)}; write a JMESPath expression as a text.")
        compile_path(path)
    return PageCheck(kind, comparator, subject, path=path, weight=weight)


class PageStateGrader(GraderConfig):
    """Checks the page where the agent stopped: address, title, text, roles, values, storage."""

    type: Literal["page_state"] = "page_state"
    reads: ClassVar[ChecksRead] = ChecksRead(having=PAGE_KEYS, lacking=("path",))

    checks: tuple[dict[str, JsonValue], ...] = ()
    """Further checks, for every row; those of a row are its ``checks``."""
    mode: Reading = "strict"
    """How values are compared: ``lenient`` forgives case, blanks and numbers written as text."""
    wait_s: float = Field(default=1.0, ge=0, le=10)
    """How long to look on while checks do not hold: the last click may still be at work."""

    @classmethod
    def golden(cls) -> tuple[Golden, ...]:
        """Return a page that is as the checks say, and one that is not."""
        checks: tuple[dict[str, JsonValue], ...] = ({"title": "Thank you"}, {"url": {"contains": "/order"}})
        task = Task(query_id="order", query="Order it.", checks=checks)
        seen: dict[str, JsonValue] = {"url": "http://shop.test/order/1", "roles": {}, "js": {}, "storage": {}}
        return (
            Golden("ordered", Verdict.PASSED, task, evidence={"page_state": {**seen, "title": "Thank you"}}),
            Golden("not yet", Verdict.FAILED, task, evidence={"page_state": {**seen, "title": "Checkout"}}),
        )

    def _checks(self, task: Task) -> list[PageCheck]:
        own = [check for check in task.checks if self.reads.include(check)]
        return [read_page_check(check) for check in (*self.checks, *own)]

    def needs(self, task: Task) -> Needs:
        """The page; the evidence says for each check whether it was observed."""
        return Needs(page=True, observes=None)

    def check(self, task: Task, base_dir: Path) -> None:
        """Check that there are checks of the page, each well formed.

        Raises:
            ValueError: with what to write.
        """
        if not self._checks(task):
            raise ValueError(
                f"the grader {self.label!r} has nothing to check. Give the row checks, such as "
                '"checks": [{"role": "heading", "name": "Thank you"}], or leave the grader out.'
            )

    async def observe(self, window: Window, task: Task, site_urls: Mapping[str, str]) -> JsonValue:
        """Read from the final page what the checks are about.

        Raises:
            Fault: the page cannot be read.
        """
        checks = self._checks(task)
        homes = [url for url in (task.start_url, *site_urls.values()) if url]

        async def look() -> dict[str, JsonValue]:
            async with observing.live_page(window) as page:
                return await _read_page(page, checks, homes)

        def is_final(seen: dict[str, JsonValue]) -> bool:
            return all(judge(check, seen, self.mode).verdict is Verdict.PASSED for check in checks)

        return await observing.wait_until_final(look, is_final, self.wait_s)

    async def grade(self, recorded: Recorded) -> GraderResult:
        """Compare what was seen with the checks.

        Raises:
            Fault: a check cannot be decided from what was seen.
        """
        seen = recorded.evidence.get(self.label)
        if not isinstance(seen, dict):
            raise GraderFault("the final page was not observed; run the task again")
        checks = self._checks(recorded.task)
        criteria = await asyncio.to_thread(lambda: [judge(check, seen, self.mode) for check in checks])
        return GraderResult(
            grader=self.label,
            verdict=Verdict.FAILED if list_failed(criteria) else Verdict.PASSED,
            score=compute_share(criteria),
            reasoning=summarize(criteria),
            criteria=tuple(criteria),
            evidence=("evidence.json",),
            details={name: cap_text(str(seen[name])) if name in seen else None for name in ("url", "title")}
            | {"mode": self.mode},
            fingerprint=self.fingerprint(3, recorded.site_urls),
        )


async def _read_page(page: LivePage, checks: list[PageCheck], homes: list[str]) -> dict[str, JsonValue]:
    """Read everything that the checks are about, each thing once."""
    seen: dict[str, Any] = {
        "url": page.url,
        "title": await page.title(),
        "roles": {},
        "js": {},
        "storage": {},
    }
    for check in checks:
        if check.kind == "text" and "text" not in seen:
            seen["text"] = await page.text()
        elif check.kind == "role" and check.key not in seen["roles"]:
            seen["roles"][check.key] = await page.count_role(check.subject, check.name)
        elif check.kind in ("js", "storage") and check.subject not in seen[check.kind]:
            try:
                if check.kind == "js":
                    value = await page.value(check.subject)
                else:
                    value = await page.read_storage(check.subject, homes)
                seen[check.kind][check.subject] = {"value": value}
            except NoValue as error:
                seen[check.kind][check.subject] = {"error": str(error)}
    return seen


# -- pure: from evidence to criteria


def judge(check: PageCheck, seen: Mapping[str, JsonValue], reading: Reading) -> Criterion:
    """Return the criterion of a check; blocks for a slow ``regex``.

    Raises:
        Fault: it cannot be decided from what was seen.
    """
    actual, problem = find_value(check, seen)
    if problem:
        unmet = check.comparator.criterion(check.title, None, reading, weight=check.weight)
        return unmet.model_copy(update={"verdict": Verdict.FAILED, "reason": problem})
    criterion = check.comparator.criterion(check.title, actual, reading, weight=check.weight)
    if check.kind == "role":
        wanted = "at least 1" if check.comparator.kind == "min" else check.comparator.expected
        expected: dict[str, JsonValue] = {"role": check.subject, "name": check.name, "count": wanted}
        named = f" named {check.name!r}" if check.name else ""
        why = f"the page shows {criterion.actual} of the role {check.subject!r}{named}, not {wanted}"
        reason = "" if criterion.verdict is Verdict.PASSED else why
        return criterion.model_copy(update={"expected": expected, "reason": reason})
    if check.kind == "text" and criterion.verdict is not Verdict.PASSED:
        return _describe_text(check, criterion, seen)
    return criterion


def find_value(check: PageCheck, seen: Mapping[str, JsonValue]) -> tuple[JsonValue, str]:
    """Return the value that a check is about, and why there is none, else ""."""
    group: Any = seen.get("roles" if check.kind == "role" else check.kind)
    entry = group
    if isinstance(group, dict) and check.kind in ("role", "js", "storage"):
        entry = group.get(check.key if check.kind == "role" else check.subject)
    if entry is None:
        raise GraderFault(f"{check.title} was not observed; run the task again")
    if check.kind == "text":
        text = drop_invisible(str(entry["value"]))
        return (text if check.comparator.kind == "regex" else " ".join(text.split())), ""
    if check.kind == "url":
        return _read_address(check.comparator, str(entry)), ""
    if check.kind not in ("js", "storage"):
        return (drop_invisible(entry) if check.kind == "title" else entry), ""
    if "error" in entry:
        return None, str(entry["error"])
    value = observing.parse_stored(entry["value"]) if check.kind == "storage" else entry["value"]
    return look_up(check.path, value) if check.path else (value, "")


_PARTS = ("contains", "regex")
"""Comparisons that look at parts of an address."""


def _read_address(comparator: Comparator, url: str) -> str:
    """Return an address such that another spelling of it makes no difference."""
    if comparator.kind not in _PARTS:
        return str(_normalize_addresses(url))
    path, mark, rest = url.partition("?")
    # A reserved character and its escape are two addresses (RFC 3986, 2.2); a query needs no escape of these.
    plain = unquote(re.sub("%(?=2[3F5]|3F)", "%25", path, flags=re.IGNORECASE)) + mark
    plain += unquote(re.sub("%(?=2[356B]|3[BD])", "%25", rest, flags=re.IGNORECASE))
    return plain if plain != url and comparator.problem(url, "lenient") else url


def _normalize_addresses(value: JsonValue) -> JsonValue:
    """Return addresses as browsers write them, with characters escaped in one way; what is none as it is."""
    if isinstance(value, list):
        return [_normalize_addresses(one) for one in value]
    try:
        address = str(Url(value))  # type: ignore[arg-type]  # what is not a text is refused as well
    except ValueError:
        return value
    return re.sub(r"%[0-9A-Fa-f]{2}", _normalize_escape, address)


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
