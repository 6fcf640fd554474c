"""Values as pages and people write them: text, numbers, dates, lists, paths into JSON.

Reading is conservative: what could mean two things is not read at all, so that it is never a match.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from decimal import Decimal
from pathlib import Path
from typing import Any, cast

from pydantic import JsonValue, ValidationError

from pytest_browsereval.graders.base import GraderFault
from pytest_browsereval.graders.evaluation import EVALUATION_LIMIT_S, evaluate
from pytest_browsereval.redaction.known import beginning

TEXT_LIMIT = 100_000
"""Characters of a text that are looked at."""
NUMBER_LIMIT = 64
DATE_LIMIT = 64
SELECTED_LIMIT = 500_000
"""Parts of what a path may select; the states that paths are looked up in have fewer."""
# Parts that a path may have that is looked up here.
_CHEAP_PARTS = 50
# Of JMESPath: what they return is no larger than what they are given.
_PLAIN_FUNCTIONS = (
    *("abs", "avg", "ceil", "contains", "ends_with", "floor", "keys", "length", "max", "min", "not_null"),
    *("reverse", "sort", "starts_with", "sum", "to_array", "to_number", "type", "values"),
)
# Each step of a path may double a value: one with too many parts, or too long texts, cannot be written.
_LOOK_UP = """
import json, sys
folder, path, value, limit = json.load(sys.stdin)
try:
    import resource
    resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))
except (ImportError, ValueError, OSError):
    pass
sys.path.append(folder)
import jmespath
try:
    found, problem = jmespath.search(path, value), ""
except jmespath.exceptions.JMESPathError as error:
    found, problem = None, " ".join(str(error).split())
pending, count = [found], 0
while pending and count <= limit:
    one = pending.pop()
    count += 1 + (len(one) // 100 if isinstance(one, str) else 0)
    if isinstance(one, (dict, list)):
        pending += one.values() if isinstance(one, dict) else one
json.dump([None, None] if count > limit else [found, problem], sys.stdout)
"""
DEEPEST = 30
"""How deeply a value of an answer may be nested."""
SHOWN_LIMIT = 300
# A judge or a program may make up keys of any length.
_PLACE_LIMIT = 80


def show(value: JsonValue, limit: int = SHOWN_LIMIT) -> str:
    """Return a value as JSON, cut to a length that suits a sentence."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    size = len(value) if isinstance(value, str) else len(text)
    return text if len(text) <= limit else f"{beginning(text, limit)}… ({size} characters)"


def clip(value: JsonValue) -> JsonValue:
    """Return a value, or its beginning as text if it is too long for a report."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return value if len(text) <= SHOWN_LIMIT else f"{beginning(text, SHOWN_LIMIT)}… ({len(text)} characters)"


def describe_invalid(error: ValidationError) -> str:
    """Return where a block is wrong first, and how; its value is left out, which may be of any size."""
    first = error.errors(include_url=False, include_input=False)[0]
    place = beginning(".".join(map(str, first["loc"])), _PLACE_LIMIT)
    return f"{place}: {first['msg']}" if place else first["msg"]


# -- text


def fold(text: str, *, case_sensitive: bool = False) -> str:
    """Return text in Unicode form NFKC with single blanks, trimmed and, by default, case-folded."""
    # NFKC turns no-break spaces and full-width digits of pages into plain ones.
    text = " ".join(unicodedata.normalize("NFKC", text).split())
    # Folding case may take a text out of its normal form again.
    return text if case_sensitive else unicodedata.normalize("NFKC", text.casefold())


def _is_word(char: str) -> bool:
    """Return whether two such characters side by side belong to one word.

    Scripts that are written without blanks have no such border: wide East Asian characters, Thai, Lao,
    Burmese and Khmer.
    """
    if not (char.isalnum() or char == "_") or unicodedata.east_asian_width(char) in "WF":
        return False
    code = ord(char)
    return not (0x0E00 <= code <= 0x0EFF or 0x1000 <= code <= 0x109F or 0x1780 <= code <= 0x17FF)


def _starts_token(text: str, at: int) -> bool:
    before, here = text[max(0, at - 2) : at], text[at]
    if not before or not _is_word(here):
        return True
    if _is_word(before[-1]):
        return False
    if not here.isdigit():
        return True
    inside_number = before[-1] in ".," and before[0].isdigit()
    negative = before[-1] in "-\N{MINUS SIGN}" and (len(before) == 1 or not _is_word(before[0]))
    return not (inside_number or negative)


def _ends_token(text: str, end: int) -> bool:
    here, after = text[end - 1], text[end : end + 2]
    if not after or not _is_word(here):
        return True
    inside_number = here.isdigit() and len(after) == 2 and after[0] in ".," and after[1].isdigit()
    return not (_is_word(after[0]) or inside_number)


def has_token(needle: str, text: str) -> bool:
    """Return whether text holds the needle as whole words and numbers: "5" is not in "15", "5.2" or "-5"."""
    at = text.find(needle) if needle else -1
    while at >= 0:
        if _starts_token(text, at) and _ends_token(text, at + len(needle)):
            return True
        at = text.find(needle, at + 1)
    return False


# -- numbers

_CURRENCY = (
    r"(?:[A-Z]{0,3}[$£€¥₹₩₽₺₫₪฿₴₦₱]|(?:USD|EUR|GBP|JPY|CHF|CAD|AUD|NZD|CNY|INR|SEK|NOK|DKK|PLN|BRL|MXN)\b)"
)
_DIGITS = r"(?:[0-9]{1,3}(?:,[0-9]{3})+|[0-9]+)(?:\.[0-9]+)?|\.[0-9]+"
_SIGNED = rf"(?P<sign>[-+]?)(?:{_CURRENCY} ?)?(?P<inner>[-+]?)(?P<digits>{_DIGITS})"
_WHOLE_NUMBER = re.compile(rf"{_SIGNED}(?P<power>[eE][-+]?[0-9]{{1,2}})? ?(?:{_CURRENCY}|%)?")
_NUMBER_IN_TEXT = re.compile(
    rf"(?<![\w.,]){_SIGNED}(?!\w|[.,][0-9])"
    r"(?! ?(?:hundred|thousand|million|billion|trillion|dozen)\b)",
    re.IGNORECASE,
)
_BLANKS = str.maketrans({"\u00a0": " ", "\u2009": " ", "\u202f": " ", "\N{MINUS SIGN}": "-"})


def _decimal(match: re.Match[str]) -> Decimal | None:
    sign, inner = match["sign"], match["inner"]
    # "-$-5" means nothing for sure.
    if sign and inner:
        return None
    power = match.groupdict().get("power") or ""
    number = Decimal(match["digits"].replace(",", "") + power)
    return -number if "-" in (sign, inner) else number


def read_number(value: JsonValue) -> Decimal | None:
    """Return the number that a value is, None if it is none or not surely one.

    Text may have a sign, thousands in groups ("1,234.50"), one currency before or after, a percent sign
    ("5%" is 5) or an exponent. A comma is never a decimal point: "1,5" and "1.234,50" are not read, nor
    are "1.2k", "5 km" and "about 5".
    """
    if isinstance(value, bool):
        return None
    # By its text: the float 0.1 itself is a bit more than that.
    if isinstance(value, (int, float)):
        number = Decimal(str(value))
        return number if number.is_finite() else None
    if not isinstance(value, str) or len(value) > NUMBER_LIMIT:
        return None
    match = _WHOLE_NUMBER.fullmatch(value.translate(_BLANKS).strip())
    return _decimal(match) if match else None


def find_numbers(text: str) -> list[Decimal]:
    """Return the different numbers in a sentence; those of an uncertain reading are left out."""
    found = (_decimal(match) for match in _NUMBER_IN_TEXT.finditer(text[:TEXT_LIMIT].translate(_BLANKS)))
    return list(dict.fromkeys(number for number in found if number is not None))


# -- dates

_FIELDS = ("year", "month", "day", "hour", "minute", "second")
_PROBES = (datetime(2000, 1, 1), datetime(2004, 2, 2, 1, 1, 1))  # noqa: DTZ001 wall-clock times on purpose
_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|"
    r"oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\.?"
)
_DAY = r"[0-9]{1,2}(?:st|nd|rd|th)?"
_CLOCK = r"[T ][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]+)?)?(?:Z|[+-][0-9]{2}:?[0-9]{2})?"
_DATE_IN_TEXT = re.compile(
    r"(?<![\w.,/-])(?:"
    rf"[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}(?:{_CLOCK})?"
    r"|[0-9]{4}/[0-9]{1,2}/[0-9]{1,2}|[0-9]{1,2}/[0-9]{1,2}/[0-9]{2,4}|[0-9]{1,2}\.[0-9]{1,2}\.[0-9]{4}"
    rf"|{_MONTH} {_DAY}(?:,? [0-9]{{4}})?|{_DAY}(?: of)? {_MONTH}(?:,? [0-9]{{4}})?|{_MONTH} [0-9]{{4}}"
    r")(?![\w/-])",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Moment:
    """A date or a time of which some fields are known."""

    fields: tuple[int | None, ...]
    """Year, month, day, hour, minute, second."""
    zone: tzinfo | None = None

    def mismatch(self, other: Moment) -> str | None:
        """Return the first field in which the other differs from this one, None if all known fields agree."""
        mine, theirs = self._align(other), other._align(self)
        for name, want, got in zip(_FIELDS, mine, theirs, strict=True):
            if want is not None and got is None:
                return f"it names no {name}"
            if want is not None and want != got:
                return f"the {name} is {got}, not {want}"
        return None

    def _align(self, other: Moment) -> tuple[int | None, ...]:
        if self.zone is None or other.zone is None or None in self.fields[:4] + other.fields[:4]:
            return self.fields
        year, month, day, hour, minute, second = (field or 0 for field in self.fields)
        there = datetime(year, month, day, hour, minute, second, tzinfo=self.zone).astimezone(UTC)
        return (there.year, there.month, there.day, there.hour, there.minute, there.second)


def _zone(name: str | None, offset: int | None) -> tzinfo | None:
    """Return the zone of an offset; names such as EST depend on the machine and are not used."""
    if offset is not None:
        return timezone(timedelta(seconds=offset))
    return UTC if name in ("UTC", "GMT", "Z") else None


def read_date(value: JsonValue, *, day_first: bool = False) -> Moment | None:
    """Return the date that a text is, with only the fields that it names; None if it is none.

    Args:
        value: ISO 8601 or any form that python-dateutil reads; numbers are not dates.
        day_first: "03/04/2025" is the 3rd of April; by default the 4th of March. A first part over 12 is
            a day in any case.
    """
    if not isinstance(value, str) or len(value) > DATE_LIMIT or not any(c.isdigit() for c in value):
        return None
    from dateutil import parser as dateutil_parser  # most runs read no dates

    # Year first is ISO 8601, in which the month always comes second; dateutil would swap it as well.
    day_first = day_first and re.match(r"\s*[0-9]{4}", value) is None
    try:
        first, second = (
            # What the text lacks comes from the default: two of them tell which fields it names.
            dateutil_parser.parse(value, default=probe, dayfirst=day_first, tzinfos=_zone)
            for probe in _PROBES
        )
    except (ValueError, OverflowError, ArithmeticError, TypeError, IndexError, AttributeError):
        return None  # the parser raises any of these for text that is not a date
    fields: list[int | None] = []
    for name in _FIELDS:
        here, there = getattr(first, name), getattr(second, name)
        fields.append(here if here == there else None)
    # "5 pm" names the full hour.
    if fields[3] is not None:
        fields[4:] = [fields[4] or 0, fields[5] or 0]
    return Moment(tuple(fields), first.tzinfo)


def find_dates(text: str, *, day_first: bool = False) -> list[Moment]:
    """Return the different dates in a sentence, in the usual English and numeric forms."""
    matches = _DATE_IN_TEXT.finditer(text[:TEXT_LIMIT].translate(_BLANKS))
    found = (read_date(match[0], day_first=day_first) for match in matches)
    return list(dict.fromkeys(date for date in found if date is not None))


# -- lists


def split_items(text: str, items: Sequence[JsonValue]) -> list[JsonValue]:
    """Return the items of a list that someone wrote out: a JSON list, or lines, or "a, b and c".

    Lines and semicolons win over commas; commas inside numbers do not count. What the expected ``items``
    hold themselves, a comma or the word "and", does not separate.
    """
    text = text.strip()
    if text.startswith("[") and isinstance(parsed := read_json(text), list):
        return parsed
    if re.search(r"[;\n]", text):
        parts = re.split(r"[;\n]", text)
    else:
        known = [fold(item) for item in items if isinstance(item, str)]
        # The comma of "1,234" is in a number.
        comma = r"(?<![0-9]),|,(?![0-9]{3}(?![0-9]))"
        marks = [comma] * (not any("," in item for item in known))
        marks += [r"\band\b"] * (not any(has_token("and", item) for item in known))
        parts = re.split("|".join(marks), text, flags=re.IGNORECASE) if marks else [text]
    stripped = (re.sub(r"^\s*(?:[-*•]|[0-9]{1,3}[.)])\s+", "", part).strip() for part in parts)
    return [part for part in stripped if part]


# -- JSON


def read_json(text: str, default: Any = None) -> Any:
    """Return the JSON value that a text of a page, a model or an agent is; the default where it is none."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):  # brackets by the thousand are not JSON either
        return default


def is_deep(value: Any) -> bool:
    """Return whether a value is nested so deeply that comparing it would be a fault instead of a failure."""
    level = [value]
    for _ in range(DEEPEST):
        inner = [part for part in level if isinstance(part, dict | list)]
        level = [one for part in inner for one in (part.values() if isinstance(part, dict) else part)]
    return bool(level)


def compile_path(path: str) -> Any:
    """Return a JMESPath expression, ready to search.

    Raises:
        ValueError: it is none; the message has the path and the parser's reason.
    """
    import jmespath
    from jmespath.exceptions import JMESPathError

    try:
        return jmespath.compile(path)
    except (JMESPathError, ValueError, RecursionError) as error:
        reason = " ".join(str(error).split())
        raise ValueError(
            f"the path {beginning(path, 200)!r} is not a JMESPath expression: {beginning(reason, 200)}. "
            "Write one such as `cart.items[0].name` or `length(orders)`"
        ) from None


def look_up(path: str, value: JsonValue) -> tuple[JsonValue, str]:
    """Return what is at the path, null if nothing is, and why it cannot be looked up, else ""; blocks.

    Raises:
        Fault: source *grader*, when it takes longer than its limit, or more memory.
    """
    from jmespath.exceptions import JMESPathError

    compiled = compile_path(path)
    if not _is_cheap(compiled.parsed):
        return _look_up_apart(path, value)
    try:
        return compiled.search(value), ""
    except JMESPathError as error:
        return None, " ".join(str(error).split())


def _is_cheap(parsed: Mapping[str, Any]) -> bool:
    """Return whether a path visits each part of a value only once for each of its own, and adds none."""
    pending, count, lists = [parsed], 0, 0
    while pending:
        node = pending.pop()
        kind, value = node["type"], node.get("value")
        count, lists = count + 1, lists + kind.startswith("multi_select")
        if kind == "expref" or (kind == "function_expression" and value not in _PLAIN_FUNCTIONS):
            return False
        if kind == "literal" and isinstance(value, list | dict):
            return False
        pending += [child for child in node["children"] if isinstance(child, dict)]
    return count <= _CHEAP_PARTS and lists <= 1


def _look_up_apart(path: str, value: JsonValue) -> tuple[JsonValue, str]:
    import jmespath

    folder = str(Path(jmespath.__file__).parent.parent)
    try:
        answer = evaluate(_LOOK_UP, [folder, path, value, SELECTED_LIMIT], EVALUATION_LIMIT_S)
    except TimeoutError:
        problem = f"took more than {EVALUATION_LIMIT_S:g} s to look up. Write it without functions inside &"
    except ValueError as error:
        problem = f"cannot be looked up: {error}"
    else:
        found, problem = cast("list[Any]", answer)
        vast = f"the path {beginning(path, 200)!r} selects more than {SELECTED_LIMIT} values"
        return found, vast if problem is None else problem
    raise GraderFault(f"the path {beginning(path, 200)!r} {problem}")
