"""Texts as WebArena-Verified compares them: without case, marks, accents and odd blanks."""

from __future__ import annotations

import json
import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import yaml

from pytest_browsereval.graders.patterns import has_match

PUNCTUATION = "'\"`.,;:!?"
"""What may stand around a text without making it another one."""

SIMILAR = 80
"""Of 100: how alike two names of places have to be."""

NAME_LIMIT = 500

_MARKS = dict.fromkeys(map(ord, "\N{TRADE MARK SIGN}\N{REGISTERED SIGN}\N{SERVICE MARK}\N{COPYRIGHT SIGN}"))
_HYPHENS = "-\u2010-\u2015\N{MINUS SIGN}\N{SOFT HYPHEN}"
_NEAR_LETTERS = re.compile(rf"(?<=[a-zA-Z])[{_HYPHENS}]|[{_HYPHENS}](?=[a-zA-Z])")
_SPELLED: dict[str, str] = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8"))
_PLAIN = str.maketrans({char: plain for plain, chars in _SPELLED.items() for char in chars})


@dataclass(frozen=True)
class Pattern:
    """A regular expression that a row expects; an agent's answer is never read as one."""

    text: str


def is_pattern(value: Any) -> bool:
    """Return whether a row's text is a pattern: it begins with ^ and ends with $."""
    return isinstance(value, str) and len(value) >= 2 and value.startswith("^") and value.endswith("$")


@lru_cache(maxsize=4096)
def matches(pattern: str, text: str, *, ignore_case: bool = False, whole: bool = True) -> bool:
    """Return whether a pattern matches from the start of a text, and to its end; blocks.

    Raises:
        Fault: the search takes too long.
    """
    return has_match(rf"\A(?:{pattern})\Z" if whole else rf"\A(?:{pattern})", text, ignore_case=ignore_case)


@lru_cache(maxsize=4096)
def names(pattern: str, name: str, *, ignore_case: bool = False) -> bool:
    """Return whether a pattern is anywhere in the name of a field or parameter; blocks.

    Raises:
        Fault: the search takes too long.
    """
    return has_match(pattern, name, ignore_case=ignore_case)


def plain_text(text: str) -> str:
    """Return a text without marks, accents, control characters and case, with single blanks."""
    text = unicodedata.normalize("NFKC", text.translate(_MARKS))
    # "e-mail" and "e mail" are the same; the minus of "-5" is not between letters.
    text = _NEAR_LETTERS.sub(" ", text)
    kept = (" " if c in "\t\n\r" else c for c in text if c in "\t\n\r" or unicodedata.category(c)[0] != "C")
    apart = unicodedata.normalize("NFKD", "".join(kept).translate(_PLAIN))
    bare = "".join(char for char in apart if not unicodedata.combining(char))
    return " ".join(bare.split()).casefold()


# -- how values of each kind are read, from a text that is plain already


def read_text(value: Any) -> str:
    """Return a value as a text; what is empty or zero is the empty text."""
    return str(value).lower().strip() if value else ""


def same_text(expected: Any, actual: Any) -> bool:
    """Compare two texts, the punctuation around them left out."""
    if isinstance(expected, Pattern):
        return matches(expected.text, str(actual), ignore_case=True)
    return bool(expected == actual or str(expected).strip(PUNCTUATION) == str(actual).strip(PUNCTUATION))


def read_list(value: Any) -> tuple[str, ...]:
    """Return the items of a list with commas, in order of the alphabet.

    Raises:
        ValueError: there is none.
    """
    items = tuple(sorted(filter(None, (item.strip() for item in str(value or "").split(",")))))
    if not items:
        raise ValueError("an empty list")
    return items


def read_json(value: Any) -> str:
    """Return JSON text in one spelling.

    Raises:
        ValueError: it is none.
    """
    if not isinstance(value, str):
        raise ValueError("no JSON text")  # noqa: TRY004 as all else that is not of the kind
    return json.dumps(json.loads(value), sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def read_empty(value: Any) -> None:
    """Return None for what says that there is nothing.

    Raises:
        ValueError: there is something.
    """
    is_number = isinstance(value, int | float)
    spelled = re.sub(r"\s*/\s*", "/", value) if isinstance(value, str) else value
    if is_number or (value and spelled not in ("n/a", "na", "nan", "null", "none")):
        raise ValueError("not empty")


_MARKDOWN = (
    (re.compile(r"\r\n?"), "\n"),
    (re.compile(r"[ \t]+$", re.MULTILINE), ""),
    (re.compile(r"\n{3,}"), "\n\n"),
    (re.compile(r"^(\s*)(#{1,6})[ \t]+", re.MULTILINE), r"\1\2 "),
    (re.compile(r"^(\s*)[*+][ \t]+", re.MULTILINE), r"\1- "),
    (re.compile(r"^[ \t]+(-)", re.MULTILINE), r"  \1"),
)
_LABEL = re.compile(r"\[([^\]]+)\]")
_TARGET = re.compile(r"\(\s*([^)]+?)\s*\)")


def read_markdown(value: Any) -> str:
    """Return Markdown in one spelling of its lists, headings and links.

    Raises:
        ValueError: it is none.
    """
    if not isinstance(value, str) or not value:
        raise ValueError("no text")
    for pattern, stead in _MARKDOWN:
        value = pattern.sub(stead, value)
    value = _LABEL.sub(lambda found: f"[{' '.join(found[1].split())}]", value)
    return _TARGET.sub(r"(\1)", value).strip()


# -- names of places


def same_name(expected: str, actual: str) -> bool:
    """Return whether two names have nearly the same words, in any order."""
    if not expected or not actual:
        return expected == actual
    left, right = _words(expected), _words(actual)
    if not left or not right:
        return False
    return round(200 * _common(left, right) / (len(left) + len(right))) >= SIMILAR


def _words(name: str) -> str:
    ascii_only = name[:NAME_LIMIT].encode("ascii", "ignore").decode()
    return " ".join(sorted(re.sub(r"[\W]", " ", ascii_only.lower()).split()))


def _common(left: str, right: str) -> int:
    """Return the length of the longest sequence of characters that both have in order."""
    row = [0] * (len(right) + 1)
    for one in left:
        before = 0
        for place, other in enumerate(right, 1):
            above = row[place]
            row[place] = before + 1 if one == other else max(above, row[place - 1])
            before = above
    return row[-1]
