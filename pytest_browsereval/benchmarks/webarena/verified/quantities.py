"""Numbers, money, lengths, times and places as WebArena-Verified reads them."""

from __future__ import annotations

import calendar
import re
from collections.abc import Callable
from datetime import datetime, timedelta
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

import yaml
from dateutil import parser as dateutil_parser

DEGREES = 1e-5
LONGEST = 500
"""Characters of a text that may be a quantity."""

_YES = ("true", "yes", "y", "1", "t", "on")
_NO = ("false", "no", "n", "0", "f", "off")

_KNOWN = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8"))
_UNITS = {name: size for size, names in _KNOWN["metres"].items() for name in names.split()}
_DISTANCE = re.compile(r"(\d+(?:\.\d*)?|\.\d+) *([a-z]+)")
_K = re.compile(r"(\d+(?:\.\d+)?)\s*k(?=\s|$)")

_PERIODS: dict[int, str] = _KNOWN["seconds"]
_DURATION = re.compile(
    r"\s*\+?\s*" + "".join(rf"(?:([\d.]+)\s*(?:{word})\s*(?:[,/]\s*)?)?\s*" for word in _PERIODS.values())
)
_CLOCK = re.compile(r"(?:(\d+):(?=\d\d:))?(\d{1,2}):(\d{2}(?:\.\d+)?)")
_HOURS_WORD = re.compile(r"(\d+):(\d+)\s*hours?")

_WORDS = {word: number for number, word in enumerate(_KNOWN["ones"].split())} | {
    word: 10 * number for number, word in enumerate(_KNOWN["tens"].split(), 2)
}
_SCALES: dict[str, int] = _KNOWN["scales"]


def require(value: Any) -> Any:
    """Return a value that is there.

    Raises:
        ValueError: it is empty, or a text that is too long for any quantity.
    """
    if isinstance(value, str) and len(value) > LONGEST:
        raise ValueError("too long")
    if not value and not isinstance(value, int | float):
        raise ValueError("empty")
    return value


def read_boolean(value: Any) -> bool:
    """Return yes or no.

    Raises:
        ValueError: it is neither.
    """
    if isinstance(require(value), int | float):
        return bool(value)
    if value in _YES or value in _NO:
        return value in _YES
    raise ValueError("neither yes nor no")


def read_number(value: Any) -> float:
    """Return a number in digits, or in words.

    Raises:
        ValueError: it is none.
    """
    if isinstance(require(value), int | float):
        return float(value)
    try:
        return float(str(value).replace(",", "").replace(" ", ""))
    except ValueError:
        return float(_read_words(str(value)))


def _read_words(text: str) -> int:
    words = [word for word in text.split() if word in _WORDS or word in _SCALES or word == "hundred"]
    if not words:
        raise ValueError("no number")
    total = part = 0
    last = 1_000_000_000_000
    for word in words:
        if word == "hundred":
            part = (part or 1) * 100
        elif word in _SCALES:
            if _SCALES[word] >= last:
                raise ValueError("no number in the right order")
            last = _SCALES[word]
            total, part = total + (part or 1) * last, 0
        else:
            part += _WORDS[word]
    return total + part


_AMOUNT = re.compile(r"[$€£¥₹₽]\s*(\d[\d.,' ]*)|(\d[\d.,' ]*)")


def read_money(value: Any) -> Decimal:
    """Return an amount. The last of point and comma is the decimal one, as the benchmark reads them.

    Raises:
        ValueError: there is none.
    """
    text = str(require(value))
    is_negative, text = text.startswith("-"), text.replace("-", "") if text.startswith("-") else text
    amounts = list(_AMOUNT.finditer(text))
    if not amounts:
        raise ValueError("no amount")
    first = next((found for found in amounts if found[1]), amounts[0])
    digits = re.sub(r"[' ]", "", first[1] or first[2]).rstrip(".,")
    # So 1.234,50 and 1,234.50 are the same amount.
    point = "." if text.rfind(".") > text.rfind(",") else ","
    plain = digits.replace("," if point == "." else ".", "").replace(point, ".")
    try:
        amount = Decimal(plain)
    except InvalidOperation:
        raise ValueError("no amount") from None
    return -amount if is_negative else amount


def are_near(by: Any, share: Any = 0) -> Callable[[Any, Any], bool]:
    """Return what compares two quantities within an amount, or within a share of the larger one."""
    return lambda expected, actual: abs(expected - actual) <= max(by, max(expected, actual) * share)


def read_distance(value: Any) -> Decimal:
    """Return a length in metres.

    Raises:
        ValueError: it is none, or has no unit.
    """
    text = _K.sub(r"\1 km", str(require(value))).replace(",", "").strip()
    found = _DISTANCE.fullmatch(text)
    unit = found[2] if found else ""
    factor = _UNITS.get(unit) or _UNITS.get(unit.removesuffix("s"))
    if found is None or factor is None:
        raise ValueError("no length with a unit")
    return Decimal(found[1]) * Decimal(factor)


def read_duration(value: Any) -> timedelta:
    """Return a time span: with units, or as a clock shows it.

    Raises:
        ValueError: it is none.
    """
    text = _HOURS_WORD.sub(r"\1h\2m", str(require(value))).strip()
    if re.fullmatch(r"[-+]?[\d.]+", text):
        raise ValueError("a time span needs a unit")
    found = _DURATION.fullmatch(text)
    if found and any(found.groups()):
        pairs = zip(found.groups(), _PERIODS, strict=True)
        return timedelta(seconds=sum(float(number) * period for number, period in pairs if number))
    if clock := _CLOCK.fullmatch(text):
        return timedelta(hours=int(clock[1] or 0), minutes=int(clock[2]), seconds=float(clock[3]))
    raise ValueError("no time span")


def read_date(value: Any) -> str:
    """Return a day as YYYY-MM-DD; the month comes first where it is not clear.

    Raises:
        ValueError: it is none, or lacks the day, the month or the year.
    """
    text = re.sub(r",(?! )", ", ", str(require(value)))
    try:
        # What a text lacks is taken from the default: two of them tell whether it lacks something.
        days = [
            dateutil_parser.parse(text, dayfirst=False, default=default).date().isoformat()
            for default in (datetime(2001, 1, 1), datetime(2004, 2, 2))  # noqa: DTZ001 a day has no zone
        ]
    except (OverflowError, TypeError) as error:
        raise ValueError(str(error)) from None
    if days[0] != days[1]:
        raise ValueError("no whole date")
    return days[0]


def read_month(value: Any) -> str:
    """Return the name of a month.

    Raises:
        ValueError: it is none.
    """
    text = str(require(value)).strip()
    try:
        number = float(text) if isinstance(value, int | float) else int(text)
    except ValueError:
        try:
            number = dateutil_parser.parse(text, default=datetime(2000, 1, 1)).month  # noqa: DTZ001
        except (OverflowError, TypeError) as error:
            raise ValueError(str(error)) from None
    if number != int(number) or not 1 <= number <= 12:
        raise ValueError("no month")
    return calendar.month_name[int(number)]


_ANGLE = r"([+-]?\d+(?:\.\d+)?)(?:\s*(?:deg|d)?\s*(?:(\d+(?:\.\d+)?)['m]\s*)?(?:(\d+(?:\.\d+)?)[\"s]\s*)?)"
_PLACE = re.compile(rf"\(?\s*([ns])?\s*{_ANGLE}\s*([ns])?\s*[,;/\s]\s*([ew])?\s*{_ANGLE}\s*([ew])?\s*\)?")


def read_place(value: Any) -> tuple[float, float]:
    """Return latitude and longitude.

    Raises:
        ValueError: it is not a place.
    """
    if isinstance(require(value), dict):
        pair = [_coordinate(value, "latitude"), _coordinate(value, "longitude")]
    elif isinstance(value, list | tuple) and len(value) == 2:
        pair = [float(value[0]), float(value[1])]
    else:
        found = _PLACE.fullmatch(str(value))
        if found is None:
            raise ValueError("no coordinates")
        pair = [_angle(found.groups()[:5], "s"), _angle(found.groups()[5:], "w")]
    if not -90 <= pair[0] <= 90:
        raise ValueError("no latitude")
    # 190 degrees east is 170 degrees west.
    return pair[0], (pair[1] + 180) % 360 - 180


def _coordinate(value: dict[str, Any], name: str) -> float:
    for key, number in value.items():
        short = str(key).lower()
        if (len(short) >= 2 and name.startswith(short)) or (short == "lng" and name == "longitude"):
            return float(number)
    raise ValueError(f"no {name}")


def _angle(parts: tuple[str | None, ...], negative: str) -> float:
    front, degrees, minutes, seconds, back = parts
    size = abs(float(degrees or 0)) + float(minutes or 0) / 60 + float(seconds or 0) / 3600
    is_negative = str(degrees).startswith("-") != (negative in (front, back))
    return -size if is_negative else size


def same_place(expected: tuple[float, float], actual: tuple[float, float]) -> bool:
    """Compare two places within about a metre."""
    return all(abs(one - other) <= DEGREES for one, other in zip(expected, actual, strict=True))
