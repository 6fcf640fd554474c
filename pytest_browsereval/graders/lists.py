"""Lists that people write out: lines, bullets, "a, b and c"."""

from __future__ import annotations

import re
from collections.abc import Sequence

from pydantic import JsonValue

from pytest_browsereval.graders.values import fold, has_token, read_json, unify_signs

_AND = r"\b(?:and|und|et|y|e|en|och|og|i|и)\b|[&と和및]"
# What stands before an item, and before the first one.
_BULLET = re.compile(r"^\s*(?:[-*•·+](?: \[[xX]\])?|[0-9]{1,3}[.)])\s+")
_INTRODUCTION = re.compile(
    r"\A(?:[^\n:\uff1a]*(?::(?=\s)|\uff1a)|(?:the|these|they|t?here|die|das|les|los|las|i|gli|de|os|as)\b[^\n:;,]*?"
    r"\b(?:are|is|sind|ist|sont|est|son|sono|zijn|são)\b)\s*",
    re.IGNORECASE,
)
_NEGATION = re.compile(
    r"\b(?:no|not|none|nor|never|neither|without|except|but|other than|one of|exclud\w*|missing|lack\w*|"
    r"wrong|incorrect\w*|fail\w*|falsch\w*|weder|un(?!i)\w+able|kein\w*|nicht|ohne|außer|pas|aucun\w*|sans|sauf|sin|ni|ningun\w*|excepto|non|nessun\w*|senza|"
    r"tranne|niet|geen|zonder|не|нет|кроме|без)\b|n't|[不没無非]|以外",
    re.IGNORECASE,
)


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
        marks = [] if any("," in item for item in known) else [comma]
        if not any(has_token("and", item) for item in known):
            marks.append(r"\band\b")
        parts = re.split("|".join(marks), text, flags=re.IGNORECASE) if marks else [text]
    stripped = (_BULLET.sub("", part).strip() for part in parts)
    return [part for part in stripped if part]


def pick_items(
    text: str, items: Sequence[JsonValue], *, query: str = "", case_sensitive: bool = False
) -> list[JsonValue]:
    """Return the expected items that a list holds, and what is left of it, without what joins items.

    So the expected items say what the parts are: `100,200,300` holds three numbers, "Salt and Pepper" is one.
    """
    text = _write_plain(text)
    introduction = _INTRODUCTION.match(text)
    negations = _list_negations(introduction[0]) if introduction else set()
    # "Not in stock: a, b" denies nothing where the query asks for what is not in stock.
    is_denied = not negations <= _list_negations(unify_signs(query))
    if introduction and not is_denied and not any(":" in str(item) for item in items):
        text = text[introduction.end() :]
    found: list[JsonValue] = []
    # The longest first: an item may be a part of another one.
    for item in sorted(items, key=lambda item: -len(str(item))):
        words = r"\s+".join(map(re.escape, _write_plain(str(item)).split()))
        pattern = re.compile(rf"(?<![\w.-]){words}(?!\w|\.[0-9])", 0 if case_sensitive else re.IGNORECASE)
        text, count = pattern.subn("\n", text)
        if count:
            found.append(item)
    rest = (part.strip() for part in re.split(rf"[;,\n\u3001\uff0c\uff1b]|{_AND}", text, flags=re.IGNORECASE))
    return found + [
        part
        for part in rest
        if re.search(r"\w|\[ \]|[✗✘❌🚫…]|\.\.\.", part) and not re.fullmatch(r"\(?[0-9]{1,3}[.)]", part)
    ]


def _list_negations(text: str) -> set[str]:
    return {word.lower()[:4] for word in _NEGATION.findall(text)}  # "failed" is "failing"


def _write_plain(text: str) -> str:
    return "\n".join(_BULLET.sub("", line) for line in unify_signs(text).splitlines())
