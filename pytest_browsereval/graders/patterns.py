"""Searching a hostile text with a pattern from a row, without ever hanging.

Python's ``re`` can take exponential time, holds the interpreter meanwhile and cannot be interrupted.
So a pattern that repeats more than once is searched for in a process of its own, with a time limit.
"""

from __future__ import annotations

import re
import warnings

from pytest_browsereval.graders.base import GraderFault
from pytest_browsereval.graders.expression import EVALUATION_LIMIT_S, evaluate
from pytest_browsereval.graders.values import TEXT_LIMIT, show
from pytest_browsereval.redaction.known import beginning

SEARCH_LIMIT_S = EVALUATION_LIMIT_S
SHORT_TEXT = 2_000
"""Up to this length one repetition costs at most some milliseconds."""

_SEARCH = (
    "import json, re, sys; pattern, text, flags = json.load(sys.stdin); "
    "found = re.search(pattern, text, flags); json.dump(found is not None, sys.stdout)"
)


def check_pattern(pattern: str) -> None:
    """Refuse what is not a regular expression.

    Raises:
        ValueError: with the pattern and what is wrong with it.
    """
    try:
        with warnings.catch_warnings():
            # Python only warns of sets that a later version will read otherwise.
            warnings.simplefilter("error")
            re.compile(pattern)
    except (re.error, Warning, OverflowError, RecursionError) as error:
        raise ValueError(
            f"{pattern!r} is not a regular expression: {error}. Put a backslash before characters that stand "
            "for themselves, or compare with `contains`."
        ) from None


def _is_cheap(pattern: str, text: str) -> bool:
    repeats = sum(pattern.count(mark) for mark in "*+?{|")
    # With a back-reference a search can take exponential time as well.
    has_reference = re.search(r"\\[1-9]", pattern) is not None
    return not has_reference and (not repeats or (repeats == 1 and len(text) <= SHORT_TEXT))


def has_match(pattern: str, text: str, *, ignore_case: bool = False) -> bool:
    """Return whether the pattern matches anywhere in the text's first 100,000 characters; blocks.

    Raises:
        Fault: source *grader*, when the search takes longer than its limit.
    """
    flags = int(re.IGNORECASE) if ignore_case else 0
    text = beginning(text, TEXT_LIMIT)
    if _is_cheap(pattern, text):
        return re.search(pattern, text, flags) is not None
    try:
        return evaluate(_SEARCH, [pattern, text, flags], SEARCH_LIMIT_S) is True
    except TimeoutError:
        raise GraderFault(
            f"the search for the pattern {show(pattern)} in {len(text)} characters took more than "
            f"{SEARCH_LIMIT_S:g} s. Write it without repetitions inside repetitions, such as (a+)+"
        ) from None
    except ValueError as error:
        raise GraderFault(f"the pattern {show(pattern)} cannot be searched: {error}") from None
