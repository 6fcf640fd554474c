"""Numbers as pages and people of many languages write them.

A number is read where it has one meaning: `1.234,50`, `12 500` with a no-break space, `1,23,456`, `1500円`.
`1,234` is read as in English. Where another convention gives another number, a generous reading has that one,
so that who compares can tell "wrong" from "cannot tell".
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from decimal import Decimal

from pydantic import JsonValue

from pytest_browsereval.graders.values import TEXT_LIMIT, is_word, unify_signs

NUMBER_LIMIT = 64

_CODES = "USD|EUR|GBP|JPY|CHF|CAD|AUD|NZD|CNY|RMB|INR|KRW|SEK|NOK|DKK|PLN|CZK|HUF|BRL|MXN|RUB|TRY|ZAR"
_SHORT = "Rs|Rp|kr|Fr|zł|Kč"
_CURRENCY = rf"(?:[A-Z]{{0,3}}[$£€¥₹₩₽₺₫₪฿₴₦₱]|(?:{_CODES}|(?:{_SHORT})\.?)(?![A-Za-z]))"
# A no-break space that groups digits; all other blanks are plain ones.
_GROUP = "\u00a0"
_NUMBER = re.compile(
    rf"(?:(?<!\w)(?P<sign>[-+]))?(?:(?<![0-9]){_CURRENCY} ?(?P<inner>[-+]?))?"
    rf"(?P<digits>[0-9]+(?:[.,'{_GROUP}][0-9]+)*|\.[0-9]+)"
    r"(?P<power>[eE][-+]?[0-9]{1,2}(?!\w))?"
)
_BEHIND = re.compile(rf" ?(?:{_CURRENCY}|%)?")
_ENGLISH = re.compile(r"[1-9][0-9]{0,2}(?:,[0-9]{3})+(?:\.[0-9]+)?|[0-9]+(?:\.[0-9]+)?|\.[0-9]+")
_INDIAN = re.compile(r"[1-9][0-9]?(?:,[0-9]{2})+,[0-9]{3}(?:\.[0-9]+)?")
_APART = re.compile(rf"[1-9][0-9]{{0,2}}(?:(?:'[0-9]{{3}})+|(?:{_GROUP}[0-9]{{3}})+)(?:[.,][0-9]+)?")
_SWAP = str.maketrans(".,", ",.")

_SCALES = (
    (r"dozens?|dutzend", "12"),
    (r"hundreds?|hundert|hundra|honderd|百(?![货貨])|백", "1e2"),
    (r"thousands?|tausend|tsd\.?|mille|mila|tys\w*\.?|тыс\w*\.?|тисяч\w*|хиляд\w*|χιλιάδες|千", "1e3"),
    (r"tusind|tusen|duizend|tuhat\w*|ezer|mii|tis[íi]c\w*|tisuć\w*|hiljad\w*", "1e3"),
    (r"[万萬만]", "1e4"),
    (r"lakhs?|लाख", "1e5"),
    (r"mil[lijyh]+[oóõã]\w*|mln\.?|mio\.?|млн\.?|миллион\w*|мільйон\w*", "1e6"),
    (r"crores?|करोड़", "1e7"),
    (r"[億亿억]", "1e8"),
    (r"billions?|bn|mil[lijy]+ar\w*|mrd\.?|mld\.?|млрд\.?|миллиард\w*|мільярд\w*", "1e9"),
    (r"trillions?", "1e12"),
)
_SCALE = re.compile(
    " ?(?:" + "|".join(f"({words})" for words, _ in _SCALES) + ")(?![A-Za-z\u00c0-\u024f\u0400-\u04ff])",
    re.IGNORECASE,
)
# What these stand for depends on who writes: a language, meters, minutes.
_UNSURE_SCALES = (
    (r"[kK]|mil|bin|ribu|ngàn|nghìn|천|พัน|ألف|हज़ार|हजार", "1e3"),
    (r"m", "1e6"),
    (r"MM?|juta|triệu|ล้าน|مليون|εκατομμύρι\w*", "1e6"),
    (r"[bB]|Md|tỷ|مليار", "1e9"),
    (r"[Bb]il[lijyh]+[oóõã]\w*|[Tt]ril[lijyh]+[oóõã]\w*", "1e12"),
)
_UNSURE_SCALE = re.compile(" ?(?:" + "|".join(f"({words})" for words, _ in _UNSURE_SCALES) + r")(?!\w)")
# What stands before a number and makes it another one, or none that was meant.
_MINUS = r"(?<![0-9] )(?:\b(?:minus|negative|moins|menos|meno|минус)\b|マイナス|\u2212) ?(?=\S?[0-9])"
# What says of a number or a date after it that it is another one; the last ones are Chinese.
_NOT = (
    r"(?:(?:\b(?:not|never|nicht|nie|pas|niet|inte|ikke|ikkje|non|не|ne|ei|nem|não|değil|bukan|tidak|kh[oô]ng|δεν|"
    r"ليس|ليست|לא|no (?:es|son|fue|era|hay)|(?:other|rather) than|except"
    # "no more than 5" may well be 5, as "at least 5" may.
    r"|(?<!no )(?<!not )(?:more|less|fewer|greater|higher|lower) than|mehr als|weniger als|(?:plus|moins) de"
    r"|(?:más|menos) de|(?:più|meno) di)|n't)"
    r"(?: (?:exactly|just|on|am|der|den|the|le|la|el|è|είναι|ph[aả]i|at)){0,2} "
    r"|(?:不是|没有|沒有|并非|並非) ?)"
)
DENIED = re.compile(_NOT, re.IGNORECASE)
"""What stands before a number or a date that is said not to be it."""
DENIED_BEFORE = re.compile(f"{_NOT}$", re.IGNORECASE)
"""The same at the end of a text."""
DENIED_BEHIND = re.compile(
    r"(?: ?[^\W\d_]{0,2} ?(?:では(?:な|あり)|じゃ(?:な|あり)|[가이] 아[니닙]|아[님니닙]|değil|नहीं))",
    re.IGNORECASE,
)
"""What follows such a one: in Japanese, Korean, Turkish and Hindi."""
_DENIED = re.compile(f"(?:{_NOT}|±|< ?|(?<![-=/\"'\\w])>).$|[^\\W\\d_]-[0-9]$", re.IGNORECASE)
_POWER = re.compile(
    r"(?<=[0-9]) ?[\u00d7x·⋅*] ?10(?:\^([-\u2212]?[0-9]+)|([\u207b\u00b9\u00b2\u00b3\u2070-\u2079]+))"
)
_FRACTION = re.compile(r"([0-9]{0,9}) ?([\u00bc-\u00be\u2150-\u215e])")
# They may follow a number without a blank. Other letters make a name of it: "3rd", "4x".
_UNIT = re.compile(
    rf"(?:{_CODES}|{_SHORT}|[cdkm]?m[²2³3]?|[kmµ]?g|[cdm]?[lL]|lbs?|oz|ft|in|mi|mph|kmh|hrs?|h|mins?|min|s|secs?|"
    r"ms|px|pt|[kKMGT]i?B|[kM]?Wh?|[kMG]?Hz|m?Ah|V|º?[CFK])(?!\w)"
)
_CJK_SCALES = "百백千万萬만億亿억"


def _write_plain(text: str) -> str:
    """Return text with ASCII digits and signs, and no-break spaces only where they group digits."""
    text = re.sub(_MINUS, "-", text.replace("\u2014", " "), flags=re.IGNORECASE)  # a long dash is not a minus
    text = _FRACTION.sub(lambda match: str(int(match[1] or 0) + unicodedata.numeric(match[2])), text)
    text = _POWER.sub(lambda match: f"e{unicodedata.normalize('NFKC', match[1] or match[2])}", text)
    text = re.sub(r"(?<=[0-9])[€$£]([0-9]{2})(?![0-9])", r".\1", write_digits(text))  # 12€50
    groups = (
        r"(?<![0-9])[0-9]{1,3}(?:(?:[\u00a0\u2007\u2009\u202f][0-9]{3})+(?![0-9])|"
        r"(?: [0-9]{3})+(?=,[0-9]{1,2}(?![0-9])))"
    )
    text = re.sub(groups, lambda match: re.sub(r"\D", "\0", match[0]), text)
    return re.sub(r"[^\S\n]", " ", text).replace("\0", _GROUP)


def write_digits(text: str) -> str:
    """Return text with the digits of all scripts as ASCII, and with one sign for those that look alike."""
    return text if text.isascii() else "".join(map(_write_sign, unify_signs(text)))


def _write_sign(char: str) -> str:
    if char.isascii():
        return char
    if (digit := unicodedata.decimal(char, None)) is not None:
        return str(digit)
    if unicodedata.east_asian_width(char) == "F":
        return unicodedata.normalize("NFKC", char)
    return {"\u066b": ".", "\u066c": "'"}.get(char, char)


def _read_digits(digits: str) -> tuple[Decimal | None, Decimal | None]:
    """Return what digits with separators stand for, and what they stand for in another convention."""
    if _APART.fullmatch(digits):
        digits = re.sub(rf"['{_GROUP}]", "", digits)
        return Decimal(digits.replace(",", ".")), None
    swapped = digits.translate(_SWAP)
    english = _ENGLISH.fullmatch(digits) or _INDIAN.fullmatch(digits)
    other = _ENGLISH.fullmatch(swapped)
    readings = [
        Decimal(text.replace(",", "")) for text, fits in ((digits, english), (swapped, other)) if fits
    ]
    return (readings[0] if readings else None), (readings[-1] if len(set(readings)) > 1 else None)


def _read_match(match: re.Match[str], text: str, *, is_generous: bool) -> tuple[Decimal, int] | None:
    """Return a number and where it ends, None if it is not surely one."""
    sign, inner = match["sign"], match["inner"]
    sure, other = _read_digits(match["digits"])
    # "-$-5" means nothing for sure.
    if sure is None or (sign and inner):
        return None
    value = other if is_generous and other is not None else sure
    if match["power"]:  # a product has 28 digits only
        value *= Decimal(f"1{match['power']}")
    end = match.end()
    while scale := _SCALE.match(text, end):
        value, end = value * Decimal(_SCALES[(scale.lastindex or 1) - 1][1]), scale.end()
    if unsure := _UNSURE_SCALE.match(text, end):
        if is_generous:
            value, end = value * Decimal(_UNSURE_SCALES[(unsure.lastindex or 1) - 1][1]), unsure.end()
        elif not unsure[2]:
            return None
    return (value.copy_negate() if "-" in (sign, inner) else value), end


def read_number(value: JsonValue, *, is_generous: bool = False) -> Decimal | None:
    """Return the number that a value is, None if it is none or not surely one.

    Text may have a sign, digits of any script in groups, a decimal comma, one currency before or after, a
    percent sign ("5%" is 5), an exponent, or a word such as "million". "1.2k" and "about 5" are not read.

    Args:
        value: a number or a text.
        is_generous: reads what has two meanings in the less usual way: "1.234" is 1234.
    """
    if isinstance(value, bool):
        return None
    # By its text: the float 0.1 itself is a bit more than that.
    if isinstance(value, (int, float)):
        number = Decimal(str(value))
        return number if number.is_finite() else None
    if not isinstance(value, str) or len(value) > NUMBER_LIMIT:
        return None
    text = _write_plain(value).strip()
    text = _write_generously(text) if is_generous else text
    match = _NUMBER.match(text)
    read = _read_match(match, text, is_generous=is_generous) if match else None
    return read[0] if read and _BEHIND.fullmatch(text, read[1]) else None


def find_numbers(text: str, *, is_generous: bool = False) -> list[Decimal]:
    """Return the different numbers in a sentence; those of an uncertain reading are left out.

    Args:
        text: only its first 100,000 characters are looked at.
        is_generous: reads what has two meanings in the less usual way, as `read_number` does.
    """
    return list(dict.fromkeys(_find(text[:TEXT_LIMIT], is_generous=is_generous)))


def _find(text: str, *, is_generous: bool) -> Iterator[Decimal]:
    # Without addresses and footnotes.
    text = _write_plain(re.sub(r"\b[a-z]{2,9}://[^\s)\]>]+|(?<=\w)\[[0-9]{1,3}\]", " ", text))
    text = _write_generously(text) if is_generous else text
    end, last = -1, None
    for match in _NUMBER.finditer(text):
        before = text[match.start() - 1 : match.start()]
        if before and (is_word(before) or before in ".,"):
            continue
        denied = _DENIED.search(text[max(0, match.start() - 30) : match.start() + 1])
        if denied and not (is_generous and denied[0][-2] == "-"):  # "ORD-17" may stand for 17
            continue
        read = _read_match(match, text, is_generous=is_generous)
        if read is None:
            continue
        value, behind = read
        if DENIED_BEHIND.match(text, behind):
            continue
        if match.start() == end and before in _CJK_SCALES and last is not None:
            last, end = last + value, behind  # 1万5000 is one number
            continue
        if last is not None:
            yield last
        last, end = (value, behind) if _is_whole(text, behind, is_generous=is_generous) else (None, -1)
    if last is not None:
        yield last


def _is_whole(text: str, end: int, *, is_generous: bool) -> bool:
    """Return whether a number ends there, and not in the middle of a name such as "3rd" or "1.2.3".

    Letters may be a unit that is not known, to a generous reader.
    """
    after = text[end : end + 2]
    if text[end - 1] in _CJK_SCALES:
        return True
    is_going_on = len(after) == 2 and after[0] in ".," and after[1].isdigit()
    if is_generous or is_going_on:
        return not is_going_on and re.match(r"-?[^\W\d_]*(?![\d_])", text[end : end + 20]) is not None
    if not after or not is_word(after[0]):
        return re.match(r"-[\u0400-\u04ff]{1,2}(?!\w)", text[end : end + 4]) is None  # 5-й
    return _UNIT.match(text, end) is not None


def _write_generously(text: str) -> str:
    """Return text where "12 500" is one number, as are "1/2" and "4.5/5", and "(5)" is -5."""
    text = re.sub(rf"\((?={_CURRENCY}? ?[0-9][0-9.,]*\))|(?<![\w)] )(?<!\w)- (?=[0-9])", " -", text)
    text = re.sub(r"(?<=[0-9])(?: ?/ ?| (?:out )?of )(?:5|10|100)(?![\w/.,])", "", text)
    text = re.sub(
        r"(?<![\w/.,])(?:([0-9]{1,3}) )?([0-9]{1,3})[/\u2044]([1-9][0-9]{0,2})(?![\w/])", _divide, text
    )
    groups = r"(?<![0-9.,])[1-9][0-9]{0,2}(?: [0-9]{3})+(?![0-9])"
    return re.sub(groups, lambda match: match[0].replace(" ", _GROUP), text)


def _divide(match: re.Match[str]) -> str:
    return str(int(match[1] or 0) + Decimal(match[2]) / Decimal(match[3]))
