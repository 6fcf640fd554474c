"""WebArena's rules: what answers, addresses and pages have to hold. Pure: from evidence to criteria."""

from __future__ import annotations

import html
import operator
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal
from urllib.parse import parse_qs, urlsplit

from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError

from pytest_browsereval.benchmarks.webarena.programs import check_locator, check_target
from pytest_browsereval.graders.criteria import make_criterion
from pytest_browsereval.graders.values import describe_invalid, show
from pytest_browsereval.model.grades import Criterion
from pytest_browsereval.redaction.known import beginning

OR = " |OR| "
NOT_ACHIEVABLE = "N/A"

_TOKEN = re.compile(r"\d+(?:[.,]\d+)*|\w+|\S")
_OPERATORS = {"<=": operator.le, ">=": operator.ge, "==": operator.eq, "<": operator.lt, ">": operator.gt}
_COMPARED = re.compile(r"\s*(<=|>=|==|<|>)\s*(-?\d+(?:\.\d+)?)\s*")


class _Entry(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Target(_Entry):
    """One entry of ``program_html``: where to look, and what has to be there."""

    url: str = Field(min_length=1)
    locator: str = ""
    required_contents: dict[str, JsonValue] = Field(min_length=1)
    prep_actions: tuple[str, ...] = ()


class PictureQuestion(_Entry):
    """A question about a picture, with its answer."""

    question: str
    answer: str


class PictureTarget(_Entry):
    """One entry of ``page_image_query``: which pictures, and what is asked about them."""

    eval_image_url: str = Field(min_length=1)
    eval_image_class: str = ""
    eval_vqa: tuple[PictureQuestion, ...] = Field(min_length=1)


class Rules(BaseModel):
    """The block ``eval`` of a row; other keys, such as annotations, are ignored."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    eval_types: tuple[Literal["string_match", "url_match", "program_html", "page_image_query"], ...] = Field(
        min_length=1
    )
    reference_answers: dict[str, JsonValue] | None = None
    reference_url: str | None = None
    program_html: tuple[Target, ...] | None = None
    page_image_query: tuple[PictureTarget, ...] | None = None
    string_note: str | None = None
    url_note: Literal["GOLD in PRED", "EXACT"] | None = None
    edition: Literal["visual"] | None = None
    """VisualWebArena's own reading of some rules; its importer says so."""

    @property
    def targets(self) -> tuple[Target, ...]:
        """What is looked for on pages."""
        return (self.program_html or ()) if "program_html" in self.eval_types else ()

    @property
    def pictures(self) -> tuple[PictureTarget, ...]:
        """What is asked about pictures."""
        return (self.page_image_query or ()) if "page_image_query" in self.eval_types else ()

    @property
    def answers(self) -> Mapping[str, JsonValue]:
        """What the answer has to be."""
        return (self.reference_answers or {}) if "string_match" in self.eval_types else {}

    @property
    def asks_model(self) -> bool:
        """Whether a model may have to be asked."""
        contents = (self.answers, *(target.required_contents for target in self.targets))
        return bool(self.pictures) or any("fuzzy_match" in content for content in contents)


@dataclass(frozen=True)
class Question:
    """What only a model can say."""

    name: str
    kind: Literal["same", "reason", "picture"]
    expected: str
    actual: str = ""
    about: str = ""
    """The question about a picture."""
    target: int = 0
    """Which of the picture targets."""


Item = Criterion | Question


def read_rules(blocks: Iterable[Mapping[str, JsonValue]]) -> list[Rules]:
    """Return the rules of a row, checked.

    Raises:
        ValueError: one is not well formed; the message says what is wrong.
    """
    found = []
    for block in blocks:
        try:
            rules = Rules.model_validate(block)
        except ValidationError as error:
            raise ValueError(f"evals: {describe_invalid(error)}.") from None
        _check(rules)
        found.append(rules)
    return found


def _check(rules: Rules) -> None:
    given = {
        "string_match": bool(rules.answers),
        "url_match": bool(rules.reference_url),
        "program_html": bool(rules.targets),
        "page_image_query": bool(rules.pictures),
    }
    empty = next((kind for kind in rules.eval_types if not given[kind]), None)
    if empty:
        raise ValueError(f"evals: eval_types names {empty!r}, but the block has nothing for it.")
    for target in rules.targets:
        check_target(target.url)
        check_locator(target.locator)
    for picture in rules.pictures:
        check_target(picture.eval_image_url)
    for url in (rules.reference_url or "").split(OR) if "url_match" in rules.eval_types else ():
        try:
            urlsplit(url)
        except ValueError as error:
            raise ValueError(f"evals: reference_url: {url!r} is not an address: {error}.") from None
    for content in (rules.answers, *(target.required_contents for target in rules.targets)):
        for key, value in content.items():
            _check_content(key, value)


def _check_content(key: str, value: JsonValue) -> None:
    if key not in _MATCHERS and key != "fuzzy_match":
        raise ValueError(f"evals: {key!r} is unknown. Known: {', '.join(_MATCHERS)}, fuzzy_match.")
    values = value if isinstance(value, list) else [value]
    if not values or any(isinstance(one, dict | list | bool) or one is None for one in values):
        raise ValueError(f"evals: {key}: expected a string or a list of strings, not {show(value)}.")
    for one in values if key == "required_values" else ():
        if not all(_COMPARED.fullmatch(part) for part in str(one).split(OR)):
            raise ValueError(f"evals: required_values: {one!r} is not a comparison such as '>= 5'.")


# -- answers and addresses


def answer_items(rules: Rules, answer: str | None) -> Iterator[Item]:
    """Yield what is to be said of the answer."""
    for key, value in rules.answers.items():
        if answer is None or not answer.strip():
            yield criterion(f"answer {key}", value, answer, "no answer was given")
        elif key == "fuzzy_match":
            yield from _fuzzy(value, answer, rules)
        else:
            yield from _contents("answer", key, value, answer, rules)


def _fuzzy(value: JsonValue, actual: str, rules: Rules) -> Iterator[Item]:
    # Upstream takes the bare "N/A" without asking a model.
    if value == NOT_ACHIEVABLE and _clean(actual) == NOT_ACHIEVABLE.lower():
        yield criterion("answer fuzzy_match", value, actual, "")
    elif value == NOT_ACHIEVABLE:
        yield Question("answer fuzzy_match", "reason", rules.string_note or "", actual)
    else:
        for one in value if isinstance(value, list) else [value]:
            yield Question("answer fuzzy_match", "same", str(one), actual)


def address_item(rules: Rules, url: str | None) -> Criterion:
    """Return whether the last page is at one of the addresses."""
    note = rules.url_note or ("EXACT" if rules.edition == "visual" else "GOLD in PRED")
    wanted = [_tidy(one, rules) for one in (rules.reference_url or "").split(OR)]
    actual = _tidy(url or "", rules)
    if note == "EXACT":
        holds = actual in wanted
    elif rules.edition == "visual":
        holds = any(one in actual for one in wanted)
    else:
        holds = _contains_address(actual, wanted)
    message = f"the last page is {url or 'none'}, not {rules.reference_url}"
    return criterion(f"url_match ({note})", rules.reference_url, url, "" if holds else message)


def _tidy(url: str, rules: Rules) -> str:
    return url.replace("localhost", "127.0.0.1").removesuffix("/") if rules.edition else url.rstrip("/")


def _contains_address(actual: str, wanted: list[str]) -> bool:
    """Return whether the address holds host and path of one, and a value of every parameter of all."""
    here = urlsplit(actual)
    query, needed = parse_qs(here.query), dict[str, set[str]]()
    for one in wanted:
        for name, values in parse_qs(urlsplit(one).query).items():
            needed.setdefault(name, set()).update(values)
    # Upstream's GOLD in PRED: the place as a substring, parameters by value.
    places = (urlsplit(one).netloc + urlsplit(one).path for one in wanted)
    at_one = any(place in here.netloc + here.path for place in places)
    return at_one and all(values & set(query.get(name, ())) for name, values in needed.items())


# -- pages


def page_items(rules: Rules, target: Target, seen: Any) -> Iterator[Item]:
    """Yield what is to be said of a part of a page; None is a part that is not there."""
    name = beginning(f"{target.url} {target.locator}".strip(), 160)
    if seen is None:
        yield criterion(name, dict(target.required_contents), None, "the page has no such part")
        return
    text = str(seen) if rules.edition == "visual" else html.unescape(str(seen))
    for key, value in target.required_contents.items():
        if key == "fuzzy_match":
            texts = map(str, value if isinstance(value, list) else [value])
            for one in (part for asked in texts for part in asked.split(OR)):
                yield Question(f"{name} fuzzy_match", "same", one, text)
        else:
            yield from _contents(name, key, value, text, rules)


def _contents(name: str, key: str, value: Any, text: str, rules: Rules) -> Iterator[Criterion]:
    values = value if isinstance(value, list) else [value]
    if key == "one_of":
        values = [OR.join(map(str, values))]
    for one in values:
        # Upstream's guard: the answer "1" must not be found in "10".
        is_alone = name == "answer" and len(values) == 1 and len(_clean(str(one))) == 1
        by_token = key != "one_of" and (rules.edition == "visual" or is_alone)
        yield criterion(f"{name} {key}", one, text, _MATCHERS[key](str(one), text, by_token))


def _clean(text: str) -> str:
    text = text.strip()
    if len(text) >= 2 and text[0] == text[-1] and text[0] in "'\"":
        text = text[1:-1]
    return text.lower()


def _holds(wanted: str, text: str, by_token: bool) -> bool:  # noqa: FBT001 a rule of the row
    wanted, text = _clean(wanted), _clean(text)
    if by_token and len(_TOKEN.findall(wanted)) == 1:
        return wanted in _TOKEN.findall(text)
    return wanted in text


def _exact(wanted: str, text: str, _: bool) -> str:  # noqa: FBT001
    return "" if _clean(wanted) == _clean(text) else f"it is {show(text, 200)}, not {show(wanted, 200)}"


def _include(wanted: str, text: str, by_token: bool) -> str:  # noqa: FBT001
    is_there = any(_holds(one, text, by_token) for one in wanted.split(OR))
    return "" if is_there else f"it does not include {show(wanted, 200)}: {show(text, 200)}"


def _exclude(wanted: str, text: str, by_token: bool) -> str:  # noqa: FBT001
    return f"it includes {show(wanted, 200)}" if _holds(wanted, text, by_token) else ""


def _values(wanted: str, text: str, _: bool) -> str:  # noqa: FBT001
    try:
        number = float(text.replace(",", "").strip())
    except ValueError:
        return f"it is {show(text, 200)}, which is not a number"
    asked = [one for one in map(_COMPARED.fullmatch, wanted.split(OR)) if one]  # checked with the row
    holds = any(_OPERATORS[one[1]](number, float(one[2])) for one in asked)
    return "" if holds else f"it is {number:g}, and {wanted} was expected"


_MATCHERS = {
    "exact_match": _exact,
    "must_include": _include,
    "must_exclude": _exclude,
    "required_values": _values,
    "one_of": _include,
}


def criterion(name: str, expected: JsonValue, actual: JsonValue, problem: str) -> Criterion:
    """Return a criterion that holds unless there is a problem."""
    return make_criterion(name, beginning(problem, 1_000), expected=expected, actual=actual)
