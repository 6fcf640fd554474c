"""Texts and JSON values: how they are shown and compared, and paths into JSON."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from pydantic import JsonValue, ValidationError

from pytest_browsereval.config_text.json_text import is_deep
from pytest_browsereval.graders.base import GraderFault
from pytest_browsereval.graders.expression import EVALUATION_LIMIT_S, evaluate
from pytest_browsereval.redaction.known import beginning

TEXT_LIMIT = 100_000
"""Characters of a text that are looked at."""
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


_ALIKE = str.maketrans(
    {
        **dict.fromkeys("\u2018\u2019\u201a\u201b\u02bc\u2032\u00b4`", "'"),
        **dict.fromkeys("\u201c\u201d\u201e\u201f\u2033\u00ab\u00bb", '"'),
        **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212\u207b\ufe63", "-"),
    }
)
# Fillers of Hangul, joiners, choices between signs and what stretches Arabic words: of other categories.
_UNSEEN = frozenset("\u034f\u0640\u115f\u1160\u180b\u180c\u180d\u3164\ufe0e\ufe0f\uffa0")


def drop_invisible(text: str) -> str:
    """Return text without characters that nobody sees: soft hyphens, zero-width ones, marks of direction."""
    if text.isascii():
        return text
    return "".join(c for c in text if unicodedata.category(c) != "Cf" and c not in _UNSEEN)


def flatten(text: str) -> str:
    """Return a text with single blanks and without invisible characters: where lines break says nothing."""
    return " ".join(drop_invisible(text).split())


def unify_signs(text: str) -> str:
    """Return text without invisible characters, and with one sign for quotes and dashes that look alike."""
    return drop_invisible(text).translate(_ALIKE)


def fold(text: str, *, case_sensitive: bool = False) -> str:
    """Return text as a reader sees it: in Unicode form NFKC, with single blanks and plain quotes and dashes.

    It is trimmed, has no invisible characters and is, by default, case-folded.
    """
    # NFKC turns no-break spaces and full-width digits of pages into plain ones.
    text = " ".join(unicodedata.normalize("NFKC", unify_signs(text)).split())
    # Folding case may take a text out of its normal form again.
    return text if case_sensitive else unicodedata.normalize("NFKC", text.casefold())


def drop_markdown(text: str) -> str:
    """Return the beginning of a text without marks of emphasis and code, and what is struck out."""
    text = re.sub(r"^ *```\w* *$", "", beginning(text, TEXT_LIMIT), flags=re.MULTILINE)
    text = re.sub(r"~~(?=\S).{1,500}?~~", " ", text)
    return re.sub(
        r"(?<![0-9A-Za-z_])(\*\*\*?|__|[*_`])(?=\S)(.{1,500}?)(?<=\S)\1(?![0-9A-Za-z_])", r"\2", text
    )


def is_word(char: str) -> bool:
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
    if not before or not is_word(here):
        return True
    if is_word(before[-1]):
        return False
    if not here.isdigit():
        return True
    inside_number = before[-1] in ".,'" and before[0].isdigit()
    negative = before[-1].translate(_ALIKE) == "-" and (len(before) == 1 or not is_word(before[0]))
    return not (inside_number or negative)


def _ends_token(text: str, end: int) -> bool:
    here, after = text[end - 1], text[end : end + 2]
    if not after or not is_word(here):
        return True
    inside_number = here.isdigit() and len(after) == 2 and after[0] in ".,'" and after[1].isdigit()
    return not (is_word(after[0]) or inside_number)


def has_token(needle: str, text: str) -> bool:
    """Return whether text holds the needle as whole words and numbers: "5" is not in "15", "5.2" or "-5"."""
    at = text.find(needle) if needle else -1
    while at >= 0:
        if _starts_token(text, at) and _ends_token(text, at + len(needle)):
            return True
        at = text.find(needle, at + 1)
    return False


# -- JSON


def read_json(text: str, default: Any = None) -> Any:
    """Return the JSON value that a text of a page, a model or an agent is; the default where it is none.

    Values nested deeply are none either: comparing them would be a fault instead of a failure.
    """
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return default
    return default if is_deep(value, DEEPEST) else value


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
