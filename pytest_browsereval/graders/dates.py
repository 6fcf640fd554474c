"""Dates as pages and people of many languages write them.

A date has the fields that it names. With dots the day comes first everywhere; elsewhere `day_first` decides.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone, tzinfo

from pydantic import JsonValue

from pytest_browsereval.graders.numbers import write_digits
from pytest_browsereval.graders.values import TEXT_LIMIT

DATE_LIMIT = 64

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
    r"|[0-9]{4}/[0-9]{1,2}/[0-9]{1,2}|[0-9]{1,2}/[0-9]{1,2}/[0-9]{2,4}|[0-9]{1,2}-[0-9]{1,2}-[0-9]{4}"
    rf"|{_MONTH} {_DAY}(?:,? [0-9]{{4}})?|{_DAY}(?: of)? {_MONTH}(?:,? [0-9]{{4}})?|{_MONTH} [0-9]{{4}}"
    rf"|{_DAY}-{_MONTH}-[0-9]{{4}}"
    r")(?![\w/-])",
    re.IGNORECASE,
)
# 2024年5月3日, 2024. 5. 3., 2024.5.3
_YEAR_FIRST = re.compile(
    r"(?<!\w)([0-9]{4}) ?[年년.] ?([0-9]{1,2}) ?[月월.] ?([0-9]{1,2})(?:[日일]|\.?(?![\w.]))"
)
_DOTTED = re.compile(
    r"(?<![\w.,/-])([0-9]{1,2})\. ?([0-9]{1,2})\. ?"
    r"([0-9]{4}|(?<=[0-9]{2}\.[0-9]{2}\.)[0-9]{2})(?![\w/-]|\.[0-9])"
)
_NAMED = re.compile(
    r"(?<![\w.,/-])([0-9]{1,2})(?:\.|er|º|ª)? (?:de |di |d')?([^\W\d_]{3,12})\.?,? "
    r"(?:de |del )?([0-9]{4})(?!\w)"
)
# How months begin in English, German, French, Spanish, Italian, Portuguese, Dutch, Polish and Russian.
_MONTHS = (
    *(
        "jan ene gen sty янв",
        "feb fev lut фев",
        "mar maa mrz мар",
        "apr avr abr kwi апр",
        "may mai mag mei maj мая май",
    ),
    *(
        "jun juin giu cze июн",
        "jul juil lug lip июл",
        "aug aou ago sie авг",
        "sep set wrz сен",
        "oct okt ott out paz окт",
    ),
    *("nov lis ноя", "dec dez dic gru дек"),
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


def _write_iso(text: str) -> str:
    """Return text with those dates in ISO 8601 whose form leaves no doubt."""
    text = re.sub(r"[^\S\n]", " ", write_digits(text))
    text = _YEAR_FIRST.sub(lambda m: f"{m[1]}-{m[2]:0>2}-{m[3]:0>2} ", text)
    text = _DOTTED.sub(lambda m: f"{_complete_year(m[3])}-{m[2]:0>2}-{m[1]:0>2}", text)
    return _NAMED.sub(_write_named, text).rstrip(" ")


def _complete_year(year: str) -> str:
    return year if len(year) == 4 else f"{'20' if int(year) < 69 else '19'}{year}"  # as POSIX has it


def _write_named(match: re.Match[str]) -> str:
    plain = "".join(
        c for c in unicodedata.normalize("NFKD", match[2].casefold()) if not unicodedata.combining(c)
    )
    fitting = [
        month
        for month, stems in enumerate(_MONTHS, 1)
        if any(plain.startswith(stem) for stem in stems.split())
    ]
    return f"{match[3]}-{fitting[0]:02}-{match[1]:0>2}" if len(fitting) == 1 else match[0]


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

    value = _write_iso(value)
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


def may_name(text: str, date: Moment) -> bool:
    """Return whether a text has the day and the year of a date, with a name of a month that is not read."""
    pairs = {(int(match[1]), int(match[3])) for match in _NAMED.finditer(_write_iso(text[:TEXT_LIMIT]))}
    return (date.fields[2], date.fields[0]) in pairs


def find_dates(text: str, *, day_first: bool = False) -> list[Moment]:
    """Return the different dates in a sentence, in the usual forms."""
    matches = _DATE_IN_TEXT.finditer(_write_iso(text[:TEXT_LIMIT]))
    found = (read_date(match[0], day_first=day_first) for match in matches)
    return list(dict.fromkeys(date for date in found if date is not None))
