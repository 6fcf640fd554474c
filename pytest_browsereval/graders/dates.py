"""Dates as pages and people of many languages write them.

A date has the fields that it names. With dots the day comes first everywhere; elsewhere `day_first` decides.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone, tzinfo

from pydantic import JsonValue

from pytest_browsereval.graders.base import GraderFault
from pytest_browsereval.graders.numbers import DENIED, DENIED_BEFORE, DENIED_BEHIND, write_digits
from pytest_browsereval.graders.values import TEXT_LIMIT

DATE_LIMIT = 64

_FIELDS = ("year", "month", "day", "hour", "minute", "second")
_PROBES = (datetime(2000, 1, 1), datetime(2004, 2, 2, 1, 1, 1))  # noqa: DTZ001 wall-clock times on purpose
_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|"
    r"oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\.?"
)
_DAY = r"[0-9]{1,2}(?:st|nd|rd|th)?"
_DATE_IN_TEXT = re.compile(
    r"(?<![\w.,/-])(?:"
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
    r"|[0-9]{4}/[0-9]{1,2}/[0-9]{1,2}|[0-9]{1,2}/[0-9]{1,2}/[0-9]{2,4}|[0-9]{1,2}-[0-9]{1,2}-[0-9]{4}"
    rf"|{_MONTH} {_DAY}(?:,? [0-9]{{4}})?|{_DAY}(?: of)? {_MONTH}(?:,? [0-9]{{4}})?|{_MONTH} [0-9]{{4}}"
    rf"|{_DAY}-{_MONTH}-[0-9]{{4}}"
    r")(?:(?![\w/-])|(?=T[0-9]{2}:))",
    re.IGNORECASE,
)
_YEAR = re.compile(r"(?<![\w.,/:-])(?:19|20)[0-9]{2}(?![\w/:-]|[.,][0-9])")
# 2024年5月3日, 2024. 5. 3., 2024.5.3
_YEAR_FIRST = re.compile(
    r"(?<!\w)([0-9]{4}) ?[年년.] ?([0-9]{1,2}) ?[月월.] ?([0-9]{1,2})"
    r"(?:[日일](?: ?(?:[-~\u301c]|から|부터) ?([0-9]{1,2})[日일])?|\.?(?![\w.]))"
)
_DOTTED = re.compile(
    r"(?<![\w.,/-])([0-9]{1,2})\. ?([0-9]{1,2})\. ?"
    r"([0-9]{4}|(?<=[0-9]{2}\.[0-9]{2}\.)[0-9]{2})(?![\w/-]|\.[0-9])"
)
_NAMED = re.compile(
    r"(?<![\w.,/-])([0-9]{1,2})(?:\.|er|º|ª)? (?:de |di |d')?([^\W\d_]{3,12})\.?,? "
    r"(?:de |del )?([0-9]{4})(?!\w)"
)
# 2024. március 5., 2024. gada 5. marts
_YEAR_NAMED = re.compile(
    r"(?<![\w.,/-])([0-9]{4})(?:\.| gada| m\.| йил)? (?:([0-9]{1,2})\.? )?([^\W\d_]{3,12})\.?"
    r"(?: ([0-9]{1,2})\.?)?(?![\w:/-])"
)
# Their months are not read, as in "5 मार्च 2024", whose marks are no letters to `re`.
_WORD = r"[^\d\s.,:;/()-]"
_UNREAD = re.compile(
    rf"(?<![\w.,/-])(?:(?P<d>[0-9]{{1,2}})\.?|(?P<y>[0-9]{{4}})\.?(?: {_WORD}{{1,5}}\.?)?)"
    rf" ?{_WORD}{{2,16}}\.?,? ?(?:(?P<y2>[0-9]{{4}})|(?P<d2>[0-9]{{1,2}}))(?![\w:/-]|[.,][0-9])"
)
# "the day before March 5" is another day.
_OFF_BY = re.compile(
    r"\b(?:day|night|week|month|year|hour)s? (?:before|after|from|until|to) (?:the )?$", re.IGNORECASE
)
# Months of which the whole text is little more: "Mai 2024", "3 mai", "mayo 3, 2024".
_ALONE = re.compile(
    r"(?:[^\W\d_]{1,3} )?(?:([0-9]{1,2})(?:\.|er|º|ª)? (?:de |di |d')?)?([^\W\d_]{3,12})\.?"
    r"(?: ([0-9]{1,2}),?)?(?: (?:de |del )?([0-9]{4}))?[.!]?"
)
_TO = r"(?:-|to|and|or|until|bis|und|oder|au|et|ou|al?|y|o|e|до|по|и|или|~|&)"
# 3 to 5 May 2024, 2024-05-03 to 05
_DAYS = re.compile(
    rf"(?<![\w:.,/-])([0-9]{{1,2}})(?:st|nd|rd|th|er|\.)? ?{_TO} ?(?=([0-9]{{1,2}})(?:st|nd|rd|th|\.)?"
    r"( (?:of |de |di )?([^\W\d_]{3,12})\.?,? (?:de |del )?[0-9]{4})(?!\w))",
    re.IGNORECASE,
)
_ISO_DAYS = re.compile(rf"(?<!\w)([0-9]{{4}}-[0-9]{{2}}-)([0-9]{{2}}) ?{_TO} ?([0-9]{{2}})(?![\w:.,-])")
_ASIAN_CLOCK = re.compile(
    r"(?:(午前|오전|上午)|(午後|오후|下午))? ?([0-9]{1,2}) ?[時时시点點](?: ?([0-9]{1,2}) ?[分분])?"
)
_TIME = re.compile(
    r"(?:T|,?(?: (?:at|um|à|a las|alle|às|om|kl\.?|в))? ?)"
    r"((?:[0-9]{1,2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]+)?)?|[0-9]{1,2}(?= ?[ap]\.?m))(?: ?[ap]\.?m\b\.?)?+)"
    r"(?:(Z|(?-i: ?[A-Z]{3,4})| ?[+-][0-9]{2}:?[0-9]{2})\b| Uhr)?+"
    rf"(?! ?(?:Uhr )?{_TO} ?[0-9]|[0-9:])",
    re.IGNORECASE,
)
# Hours from UTC; what people call CST or IST is one of several.
_ZONES = dict(
    **dict.fromkeys(("UTC", "GMT", "Z", "WET"), 0),
    **dict.fromkeys(("CET", "WEST"), 1),
    **dict.fromkeys(("CEST", "EET"), 2),
    **dict.fromkeys(("EEST", "MSK"), 3),
    **dict.fromkeys(("JST", "KST"), 9),
    **dict.fromkeys(("EST", "CDT"), -5),
    **dict.fromkeys(("MST", "PDT"), -7),
    EDT=-4,
    MDT=-6,
    PST=-8,
)
_UNKNOWN = timezone(timedelta(0), "unknown")

# How months begin in English, German, French, Spanish, Italian, Portuguese, Dutch, Polish and Russian.
# What begins two, such as the Finnish marraskuu and the Croatian listopad, is not read.
_MONTHS = (
    "jan ene gen sty янв",
    "feb fev lut фев",
    "mar maa mrz мар",
    "apr avr abr kwi апр",
    "may mai mag mei maj мая май",
    "jun juin giu cze июн",
    "jul juil lug lipc lipi июл",
    "aug aou ago sie авг",
    "sep set wrz сен",
    "oct okt ott out paz lis окт",
    "nov lis marr ноя",
    "dec dez dic gru дек",
)


@dataclass(frozen=True)
class Moment:
    """A date or a time of which some fields are known."""

    fields: tuple[int | None, ...]
    """Year, month, day, hour, minute, second."""
    zone: tzinfo | None = None

    def mismatch(self, other: Moment) -> str | None:
        """Return the first field in which the other differs from this one, None if all known fields agree.

        Raises:
            GraderFault: the other's time has a zone that is not known, and this one's has another.
        """
        if self.zone is not None and other.zone is _UNKNOWN:
            raise GraderFault(
                "cannot tell which time it is: its zone is one of several. Have the task ask for UTC"
            )
        mine, theirs = self._align(other), other._align(self)
        for name, want, got in zip(_FIELDS, mine, theirs, strict=True):
            if want is not None and got is None:
                return f"it names no {name}"
            if want is not None and want != got:
                return f"the {name} is {got}, not {want}"
        return None

    def _align(self, other: Moment) -> tuple[int | None, ...]:
        if None in (self.zone, other.zone) or None in self.fields[:4] + other.fields[:4]:
            return self.fields
        year, month, day, hour, minute, second = (field or 0 for field in self.fields)
        there = datetime(year, month, day, hour, minute, second, tzinfo=self.zone).astimezone(UTC)
        return (there.year, there.month, there.day, there.hour, there.minute, there.second)


def _zone(name: str | None, offset: int | None) -> tzinfo | None:
    if offset is None and name is None:
        return None
    if offset is None:
        return timezone(timedelta(hours=_ZONES[name])) if name in _ZONES else _UNKNOWN
    if abs(offset) > 14 * 3600:
        raise ValueError("it is the end of a range of times: 14:30-15:30")
    return timezone(timedelta(seconds=offset))


def _write_iso(text: str) -> str:
    """Return text with those dates in ISO 8601 whose form leaves no doubt."""
    text = re.sub(r"(?<=:[0-9]{2}) ?[\u2013\u2014~] ?(?=[0-9]{1,2}:)", " to ", text)
    text = re.sub(r"[^\S\n]", " ", write_digits(text))
    text = re.sub(r"(?:ngày )?([0-9]{1,2}) tháng ([0-9]{1,2})(?: năm|,) ([0-9]{4})", r"\1.\2.\3", text)
    text = re.sub(r"(?<![\w:])([0-9]{1,2}) ?h ?([0-9]{2})(?!\w)", r"\1:\2", text)
    text = re.sub(r"(?<![\w:.])([0-9]{1,2})\.([0-9]{2})(?= Uhr)", r"\1:\2", text)
    text = re.sub(r"\b(kl\.?|klo|ore) ([0-9]{1,2})\.([0-9]{2})(?![\w.])", r"\1 \2:\3", text)
    text = _ASIAN_CLOCK.sub(_write_clock, text)
    text = _DAYS.sub(
        lambda m: f"{m[1]}{m[3]} to " if int(m[1]) < int(m[2]) and _read_month(m[4]) else m[0], text
    )
    text = _ISO_DAYS.sub(r"\1\2 to \1\3", text)
    text = _YEAR_FIRST.sub(_write_year_first, text)
    text = re.sub(r"(?<!\w)([0-9]{4}) ?[年년] ?([0-9]{1,2}) ?[月월]", r"\1-\2 ", text)
    text = _DOTTED.sub(lambda m: f"{_complete_year(m[3])}-{m[2]:0>2}-{m[1]:0>2}", text)
    text = _YEAR_NAMED.sub(_write_year_named, text)
    return _NAMED.sub(_write_named, text).rstrip(" ")


def _write_year_first(match: re.Match[str]) -> str:
    return " to ".join(f"{match[1]}-{match[2]:0>2}-{day:0>2} " for day in match.groups()[2:] if day)


def _complete_year(year: str) -> str:
    return year if len(year) == 4 else f"{'20' if int(year) < 69 else '19'}{year}"  # as POSIX has it


def _write_clock(match: re.Match[str]) -> str:
    half = "am" if match[1] else "pm" if match[2] else ""
    return f" {match[3]}:{match[4] or 0:0>2}{half}"


def _read_month(name: str) -> int | None:
    plain = "".join(c for c in unicodedata.normalize("NFKD", name.casefold()) if not unicodedata.combining(c))
    fitting = [
        month
        for month, stems in enumerate(_MONTHS, 1)
        if any(plain.startswith(stem) for stem in stems.split())
    ]
    return fitting[0] if len(fitting) == 1 else None


def _write_named(match: re.Match[str]) -> str:
    month = _read_month(match[2])
    return f"{match[3]}-{month:02}-{match[1]:0>2}" if month else match[0]


def _write_year_named(match: re.Match[str]) -> str:
    year, before, name, behind = match.groups()
    month = _read_month(name) if (before is None) != (behind is None) else None
    return f"{year}-{month:02}-{before or behind:0>2}" if month else match[0]


def _write_alone(match: re.Match[str]) -> str:
    month = _read_month(match[2])
    if month is None:
        return match[0]
    return " ".join(filter(None, (match[1] or match[3], _MONTHS[month - 1][:3], match[4])))


def read_date(value: JsonValue, *, day_first: bool = False, year_first: bool = False) -> Moment | None:
    """Return the date that a text is, with only the fields that it names; None if it is none.

    Args:
        value: ISO 8601 or any form that python-dateutil reads; numbers are not dates.
        day_first: "03/04/2025" is the 3rd of April; by default the 4th of March. A first part over 12 is
            a day in any case.
        year_first: "24/05/03" is in 2024.
    """
    if not isinstance(value, str) or len(value) > DATE_LIMIT or not any(c.isdigit() for c in value):
        return None
    from dateutil import parser  # most runs read no dates

    value = _write_iso(value).strip()
    if DENIED.match(value):
        return None
    value = _write_alone(alone) if (alone := _ALONE.fullmatch(value)) else value
    # Year first is ISO 8601, in which the month always comes second; dateutil would swap it as well.
    day_first = day_first and re.match(r"\s*[0-9]{4}", value) is None
    try:
        first, second = (
            # What the text lacks comes from the default: two of them tell which fields it names.
            parser.parse(value, default=probe, dayfirst=day_first, yearfirst=year_first, tzinfos=_zone)
            for probe in _PROBES
        )
    except (ValueError, OverflowError, ArithmeticError, TypeError, IndexError, AttributeError):
        return None  # the parser raises any of these for text that is not a date
    both = ((getattr(first, name), getattr(second, name)) for name in _FIELDS)
    fields: list[int | None] = [here if here == there else None for here, there in both]
    # The parser takes a number that is left over for a time. "5 pm" names the full hour.
    if fields[3] is not None:
        if not re.search(r"[0-9]:[0-9]|[0-9] ?[ap]\.?m|[0-9]T[0-9]", value, re.IGNORECASE):
            return None
        fields[4:] = [fields[4] or 0, fields[5] or 0]
    return Moment(tuple(fields), first.tzinfo)


def may_name(text: str, date: Moment) -> bool:
    """Return whether a text has the day and the year of a date, with a name of a month that is not read."""
    day, year = date.fields[2], date.fields[0]
    for match in _UNREAD.finditer(_write_iso(text[:TEXT_LIMIT])):
        found = match.groupdict()
        if (day, year) == (int(found["d"] or found["d2"] or 0), int(found["y"] or found["y2"] or 0)):
            return True
    return False


def find_dates(text: str, *, day_first: bool = False, year_first: bool = False) -> list[Moment]:
    """Return the different dates in a sentence, in the usual forms; years alone if there is nothing else."""
    text = _write_iso(text[:TEXT_LIMIT])
    matches = list(_DATE_IN_TEXT.finditer(text)) or list(_YEAR.finditer(text))
    meant = [m for m in matches if not _is_denied(text, m)]
    written = [" ".join([m[0], *(_find_time(text, m.end()) if m.re is _DATE_IN_TEXT else ())]) for m in meant]
    found = (read_date(one, day_first=day_first, year_first=year_first) for one in written)
    return list(dict.fromkeys(date for date in found if date is not None))


def _is_denied(text: str, match: re.Match[str]) -> bool:
    before = text[max(0, match.start() - 30) : match.start()]
    is_other = DENIED_BEFORE.search(before) or _OFF_BY.search(before)
    return bool(is_other or DENIED_BEHIND.match(text, match.end()))


def _find_time(text: str, at: int) -> list[str]:
    """Return the time that follows a date, and its zone."""
    match = _TIME.match(text, at)
    return [part for part in match.groups() if part] if match else []
