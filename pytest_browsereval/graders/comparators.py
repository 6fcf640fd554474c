"""Typed comparisons of what was expected with what was found, each in a strict and a lenient reading.

A check holds exactly one of the keys of ``MEANINGS``.

*Strict* compares texts character by character. *Lenient* compares them trimmed, case-folded, with single
blanks and in Unicode form NFKC, and a number with a text that spells it. Neither takes a part for the whole.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Literal

from pydantic import JsonValue

from pytest_browsereval.errors import nearest
from pytest_browsereval.graders.base import GraderFault
from pytest_browsereval.graders.criteria import make_criterion
from pytest_browsereval.graders.dates import read_date
from pytest_browsereval.graders.numbers import read_number
from pytest_browsereval.graders.patterns import check_pattern, has_match
from pytest_browsereval.graders.values import TEXT_LIMIT, flatten, fold, has_token, show
from pytest_browsereval.model.grades import Criterion
from pytest_browsereval.redaction.known import beginning

Reading = Literal["strict", "lenient"]

# Relative; what sums of binary fractions such as 0.1 + 0.2 are off by.
_EPSILON = Decimal("1e-13")


@dataclass(frozen=True)
class Comparator:
    """One comparison, checked; see :func:`read_comparator`."""

    kind: str
    expected: JsonValue
    tolerance: float = 0.0
    day_first: bool | None = None

    def problem(self, actual: JsonValue, reading: Reading = "strict") -> str:
        """Return why the actual value is not as expected, "" if it is; blocks for a slow ``regex``.

        Raises:
            Fault: a pattern takes too long, or a value can be read in two ways.
        """
        # One sentence for all kinds: that null cannot be read as a number would hide that nothing is there.
        if actual is None and self.kind not in ("exists", "equals", "not_equals", "one_of"):
            return f"there is no value where {self} is expected"
        return _PROBLEMS[self.kind](self, actual, reading)

    def criterion(
        self, name: str, actual: JsonValue, reading: Reading = "strict", *, weight: float = 1.0
    ) -> Criterion:
        """Return the comparison as a criterion of a grade.

        Raises:
            Fault: a pattern takes too long, or a value can be read in two ways.
        """
        reason = self.problem(actual, reading)
        # Tells a row that is written too narrowly from an agent that was wrong.
        if reason and reading == "strict" and not self.problem(actual, "lenient"):
            reason += " (it would pass in lenient mode)"
        expected = self.expected if self.kind == "equals" else self.as_json()
        return make_criterion(name, reason, expected=expected, actual=actual, weight=weight)

    def flatten(self) -> Comparator:
        """Return the comparison with a text that is flat, as it is compared; patterns stay as they are."""
        is_text = isinstance(self.expected, str) and self.kind != "regex"
        return replace(self, expected=flatten(str(self.expected))) if is_text else self

    def as_json(self) -> dict[str, JsonValue]:
        """Return the comparison as it is written in a row."""
        options: dict[str, JsonValue] = {"tolerance": self.tolerance} if self.tolerance else {}
        return {self.kind: self.expected, **options}

    def __str__(self) -> str:
        return f"{self.kind} {show(self.expected, 80)}"


# -- equality


def is_same(expected: JsonValue, actual: JsonValue, reading: Reading) -> bool:
    """Return whether two JSON values are equal in a reading."""
    # Python says that True == 1, and JSON that they are different values.
    if isinstance(expected, bool) or isinstance(actual, bool):
        return expected is actual
    if isinstance(expected, list) and isinstance(actual, list):
        pairs = zip(expected, actual, strict=False)
        return len(expected) == len(actual) and all(is_same(a, b, reading) for a, b in pairs)
    if isinstance(expected, dict) and isinstance(actual, dict):
        keys = expected.keys()
        return keys == actual.keys() and all(is_same(expected[key], actual[key], reading) for key in keys)
    return expected == actual or (reading == "lenient" and _is_spelled_alike(expected, actual))


def _is_spelled_alike(expected: JsonValue, actual: JsonValue) -> bool:
    if isinstance(expected, str) and isinstance(actual, str):
        return fold(expected) == fold(actual)
    number = read_number(expected)
    return number is not None and number == read_number(actual)


def is_close(expected: Decimal, actual: Decimal, tolerance: float) -> bool:
    """Return whether two numbers differ by no more than the tolerance; whole ones are exact."""
    are_whole = all(one == one.to_integral_value() for one in (expected, actual))
    if are_whole and not tolerance:  # a difference has 28 digits only
        return expected == actual
    slack = Decimal(0) if are_whole else _EPSILON * abs(expected)
    return abs(expected - actual) <= Decimal(str(tolerance)) + slack


# -- what is wrong, by kind


def _equals(this: Comparator, actual: JsonValue, reading: Reading) -> str:
    if is_same(this.expected, actual, reading):
        return ""
    return f"it is {show(actual, 80)}, not {show(this.expected, 80)}"


def _not_equals(this: Comparator, actual: JsonValue, reading: Reading) -> str:
    is_wrong = is_same(this.expected, actual, reading)
    return f"it is {show(actual, 80)}, which it must not be" if is_wrong else ""


def _contains(this: Comparator, actual: JsonValue, reading: Reading) -> str:
    wanted = this.expected
    if isinstance(actual, list):
        if any(is_same(wanted, item, reading) for item in actual):
            return ""
        return f"none of its {len(actual)} items is {show(wanted, 80)}"
    if not isinstance(actual, str) or not isinstance(wanted, str):
        return f"{show(actual, 80)} is neither a text nor a list that could hold {show(wanted, 80)}"
    text = beginning(actual, TEXT_LIMIT)
    if reading == "lenient":
        wanted, text = fold(wanted), fold(text)
    if has_token(wanted, text):
        return ""
    reason = f"the text does not contain {show(this.expected, 80)}"
    at = text.find(wanted)
    if at < 0 or not wanted:
        return reason
    before, after = text[:at].split(" ")[-1], text[at + len(wanted) :].split(" ")[0]
    return f"{reason} as whole words, only as a part of {show(before + wanted + after, 80)}"


def _regex(this: Comparator, actual: JsonValue, reading: Reading) -> str:
    if not isinstance(actual, str):
        return f"{show(actual, 80)} is not a text to search {this.expected!r} in"
    text = fold(actual, case_sensitive=True) if reading == "lenient" else actual
    matches = has_match(str(this.expected), text, ignore_case=reading == "lenient")
    return "" if matches else f"{show(actual, 80)} does not match {this.expected!r}"


def _one_of(this: Comparator, actual: JsonValue, reading: Reading) -> str:
    choices = this.expected if isinstance(this.expected, list) else []
    if any(is_same(choice, actual, reading) for choice in choices):
        return ""
    return f"it is {show(actual, 80)}, none of {show(this.expected, 120)}"


def _set_equals(this: Comparator, actual: JsonValue, reading: Reading) -> str:
    if not isinstance(actual, list):
        return f"{show(actual, 80)} is not a list"
    wanted = this.expected if isinstance(this.expected, list) else []
    missing = [a for a in wanted if not any(is_same(a, b, reading) for b in actual)]
    extra = [b for b in actual if not any(is_same(a, b, reading) for a in wanted)]
    parts = [
        f"{word} {show(items, 120)}" for word, items in (("lacks", missing), ("also has", extra)) if items
    ]
    return f"the list {' and '.join(parts)}" if parts else ""


def _number(this: Comparator, actual: JsonValue, _: Reading) -> str:
    wanted = read_number(this.expected)

    def fits(number: Decimal | None) -> bool:
        return number is not None and wanted is not None and is_close(wanted, number, this.tolerance)

    within = f" within {this.tolerance:g}" if this.tolerance else ""
    return _compare_number(this, actual, fits, f"not {wanted}{within}")


def _compare_number(
    this: Comparator, actual: JsonValue, fits: Callable[[Decimal | None], bool], problem: str
) -> str:
    number = read_number(actual)
    if fits(number):
        return ""
    if fits(read_number(actual, is_generous=True)):
        raise GraderFault(f"cannot tell whether {this} holds: {show(actual, 80)} is one of two numbers")
    if number is None:
        return f"{show(actual, 80)} cannot be read as a number with certainty"
    return f"it is {number}, {problem}"


def _date(this: Comparator, actual: JsonValue, _: Reading) -> str:
    wanted = read_date(this.expected, day_first=bool(this.day_first))
    date = read_date(actual, day_first=bool(this.day_first))
    other = read_date(actual, day_first=not this.day_first)
    if wanted is None or date is None or other is None:
        return f"{show(actual, 80)} cannot be read as a date"
    mismatch = wanted.mismatch(date)
    if mismatch and this.day_first is None and wanted.mismatch(other) is None:
        raise GraderFault(
            f"cannot tell whether {this} holds: {show(actual, 80)} is one of two dates. Write "
            "`day_first: true` or `day_first: false`"
        )
    return f"{show(actual, 80)} is not {show(this.expected, 80)}: {mismatch}" if mismatch else ""


def _bound(this: Comparator, actual: JsonValue, _: Reading) -> str:
    bound, is_min = read_number(this.expected), this.kind == "min"

    def fits(number: Decimal | None) -> bool:
        return number is not None and bound is not None and (number >= bound if is_min else number <= bound)

    return _compare_number(this, actual, fits, f"{'less' if is_min else 'more'} than {bound}")


def _exists(this: Comparator, actual: JsonValue, _: Reading) -> str:
    if (actual is not None) == this.expected:
        return ""
    return "it does not exist, or is null" if this.expected else f"it exists: {show(actual, 80)}"


_PROBLEMS: dict[str, Callable[[Comparator, JsonValue, Reading], str]] = {
    "equals": _equals,
    "not_equals": _not_equals,
    "contains": _contains,
    "regex": _regex,
    "one_of": _one_of,
    "set_equals": _set_equals,
    "number": _number,
    "date": _date,
    "min": _bound,
    "max": _bound,
    "exists": _exists,
}

MEANINGS = {
    "equals": "The same JSON value. `1` and `true` differ, `1` and `1.0` do not.",
    "not_equals": "Any other JSON value.",
    "contains": "A text holds this one as whole words (`5` is not in `15`), or a list holds this item.",
    "regex": "The text matches this pattern anywhere, within its first 100,000 characters and 5 seconds.",
    "one_of": "It equals one of this list.",
    "set_equals": "The list holds the same items. Order and repetitions do not count.",
    "number": "The same number, read from text too: `$1,234.50` and `1.234,50` are 1234.5. Where a "
    "text is one of two numbers, and only the less usual one fits (`1.234` for 1234), the grade is errored.",
    "date": "The same date, as far as this one goes: `2025-03` is any day of that month.",
    "min": "A number, read as for `number`, that is at least this one.",
    "max": "A number, read as for `number`, that is at most this one.",
    "exists": "`true`: it is there and not null. `false`: it is not.",
}
"""What holds if a check has a key of these, in Markdown."""

COMPARATORS = tuple(_PROBLEMS)
"""The keys of which a check holds exactly one."""

# -- reading a comparison from a row


def _is_number(value: JsonValue) -> bool:
    return isinstance(value, (int, float)) and read_number(value) is not None


_ALLOWED: dict[str, tuple[Callable[[JsonValue], bool], str]] = {
    "contains": (lambda v: v not in ("", None), 'a string, such as "Thank you", or an item of a list'),
    "regex": (lambda v: isinstance(v, str) and v != "", 'a string, such as "^Order [0-9]+$"'),
    "one_of": (lambda v: isinstance(v, list) and bool(v), 'a list, such as ["red", "blue"]'),
    "set_equals": (lambda v: isinstance(v, list), 'a list, such as ["red", "blue"]'),
    "number": (_is_number, "a number, such as 59.98, without quotes"),
    "min": (_is_number, "a number, such as 1, without quotes"),
    "max": (_is_number, "a number, such as 10, without quotes"),
    "exists": (lambda v: isinstance(v, bool), "true or false"),
}
OPTIONS = {
    "tolerance": ("number", "How far off the number may be; 0 by default."),
    "day_first": ("date", "`true` reads `03/04/2025` as 3 April; `false`, the default, as March 4."),
}
"""Options of comparisons: which one each belongs to, and what it does, in Markdown."""


def read_comparator(check: Mapping[str, JsonValue], *, others: Collection[str] = ()) -> Comparator:
    """Return the one comparison that a check holds.

    Args:
        check: the check as the row has it.
        others: keys of the check that are not the comparison's.

    Raises:
        ValueError: none, several, an unknown one, or one with a value of the wrong type.
    """
    keys = [key for key in check if key not in others]
    known = (*COMPARATORS, *OPTIONS, *others)
    for key in keys:
        if key not in known:
            raise ValueError(
                f"{show(dict(check))} has the unknown key {key!r}.{nearest(key, known)} "
                f"A check compares by one of: {', '.join(COMPARATORS)}."
            )
    kinds = [key for key in keys if key in _PROBLEMS]
    if len(kinds) != 1:
        raise ValueError(
            f"{show(dict(check))} has {len(kinds)} comparisons{': ' if kinds else ''}{', '.join(kinds)}. "
            f"Write exactly one of: {', '.join(COMPARATORS)}; for a second one add a second check."
        )
    for option, (kind, _) in OPTIONS.items():
        if option in keys and kinds[0] != kind:
            raise ValueError(f"{show(dict(check))}: {option!r} belongs to {kind!r}; leave it out.")
    return _make_comparator(check, kinds[0])


def _make_comparator(check: Mapping[str, JsonValue], kind: str) -> Comparator:
    expected, day_first = check[kind], check.get("day_first")
    fits, allowed = _ALLOWED.get(kind, (lambda _: True, ""))
    if not fits(expected):
        raise ValueError(f"{kind!r} is {show(expected)}; write {allowed}.")
    tolerance = _read_float(check, "tolerance", 0.0)
    if tolerance < 0:
        raise ValueError(f"'tolerance' is {tolerance}; write a number from 0 on, such as 0.01.")
    if day_first not in (True, False, None):
        raise ValueError(f"'day_first' is {show(day_first)}; write true or false.")
    if kind == "regex":
        check_pattern(str(expected))
    if kind == "date":
        check_date(expected, day_first=bool(day_first))
    return Comparator(kind, expected, tolerance, None if day_first is None else bool(day_first))


def _read_float(check: Mapping[str, JsonValue], key: str, default: float) -> float:
    value = check.get(key, default)
    number = float(str(value)) if _is_number(value) else math.nan
    if not math.isfinite(number):
        raise ValueError(f"{key!r} is {show(value)}; write a number, such as 2 or 0.01, without quotes.")
    return number


def check_date(expected: JsonValue, *, day_first: bool = False) -> None:
    """Refuse what names neither a year nor a month.

    Raises:
        ValueError: with the value and what to write.
    """
    date = read_date(expected, day_first=day_first)
    if date is None or date.fields[:2] == (None, None):
        raise ValueError(f'{show(expected)} cannot be read as a date; write one such as "2025-03-04".')


def read_weight(check: Mapping[str, JsonValue]) -> float:
    """Return a check's weight, 1 by default.

    Raises:
        ValueError: it is not a number above 0.
    """
    weight = _read_float(check, "weight", 1.0)
    if weight <= 0:
        raise ValueError(f"'weight' is {weight:g}; write a number above 0, such as 2.")
    return weight
