"""A reference answer found in texts: whole or by its telling words, however a judge spells it."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache

from pydantic import JsonValue

_WORD = re.compile(r"[^\W_]+")
_THOUSANDS = re.compile(r"(?<=\d)[,'\u2019\u00a0\u202f ](?=\d{3}(?!\d))")
# A word of a longer answer with so many letters gives something away by itself, as a number does.
_TELLING = 4
# Words of our own reports, which give nothing away.
_OURS = ("answer", "answers")
# Where the scripts of East Asia begin, which are written without blanks.
_WITHOUT_BLANKS = 0x2E80


def compile_answer(answer: JsonValue, query: str) -> re.Pattern[str] | None:
    """Return what finds an answer in a text of Unicode form NFC; None where there is nothing to find.

    Args:
        answer: as the row has it.
        query: the instruction; what it gives away itself is not hidden.
    """
    return _pattern(tuple(list_texts(answer)), query)


def list_wordings(answer: JsonValue) -> tuple[str, ...]:
    """Return an answer as it may be worded: whole and by its words, in several cases."""
    found: list[str] = []
    for one in list_texts(answer):
        text = unicodedata.normalize("NFC", one)
        plain = _THOUSANDS.sub("", text)
        found += [_trim_to_words(text), _trim_to_words(plain), *_WORD.findall(plain)]
    cased = [(one, one.lower(), one.upper(), one.capitalize(), one.title()) for one in found]
    return tuple(dict.fromkeys(one for cases in zip(*cased, strict=True) for one in cases))


def list_texts(answer: JsonValue) -> Iterator[str]:
    """Yield the texts and numbers of a JSON value, and the names of its fields."""
    if isinstance(answer, dict):
        for key, value in answer.items():
            yield key
            yield from list_texts(value)
    elif isinstance(answer, list):
        for item in answer:
            yield from list_texts(item)
    elif answer is not None and not isinstance(answer, bool):
        yield str(answer)


@lru_cache(maxsize=256)
def _pattern(answers: tuple[str, ...], query: str) -> re.Pattern[str] | None:
    public = {*_OURS, *(word.casefold() for word in _words(query))}
    found: dict[str, None] = {}
    for answer in answers:
        words = _words(answer)
        alone = [word for word in words if _tells(word) and word.casefold() not in public]
        found.update({_border_words([word]): None for word in alone})
        if words:
            found[_border_words(words)] = None
        elif answer.strip():
            found[re.escape(answer.strip())] = None
    wanted = sorted(found, key=len, reverse=True)
    return re.compile("|".join(wanted), re.IGNORECASE) if wanted else None


def _trim_to_words(text: str) -> str:
    words = list(_WORD.finditer(text))
    return text[words[0].start() : words[-1].end()] if words else text.strip()


def _border_words(words: list[str]) -> str:
    """Return a pattern for words with anything between them but words; "5" is not in "15"."""
    before = "" if _has_no_border(words[0][0]) else r"(?<![^\W_])"
    behind = "" if _has_no_border(words[-1][-1]) else r"(?![^\W_])"
    return before + r"[\W_]+".join(_spell_word(word) for word in words) + behind


def _has_no_border(char: str) -> bool:
    """Tell whether a script is written without blanks."""
    return ord(char) >= _WITHOUT_BLANKS or "\u0e00" <= char <= "\u0eff" or "\u1000" <= char <= "\u109f"


def _words(text: str) -> list[str]:
    return _WORD.findall(_THOUSANDS.sub("", unicodedata.normalize("NFC", text)))


def _tells(word: str) -> bool:
    return len(word) >= _TELLING or any(char.isdigit() or _has_no_border(char) for char in word)


def _spell_word(word: str) -> str:
    """Return a pattern for a word: with and without accents, a number with and without thousands marked."""
    if word.isdecimal() and len(word) > 3:
        head = len(word) % 3 or 3
        groups = [word[:head], *(word[at : at + 3] for at in range(head, len(word), 3))]
        return r"[,.'\u2019\u00a0\u202f ]?".join(groups)
    plain = "".join(char for char in unicodedata.normalize("NFKD", word) if not unicodedata.combining(char))
    return re.escape(word) if plain == word else f"(?:{re.escape(word)}|{re.escape(plain)})"
