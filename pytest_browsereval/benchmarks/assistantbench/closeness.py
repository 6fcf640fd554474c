"""Similarity of answers: shared words, ratios of numbers, keys of blocks, the best pairing of lists.

The measures are those of AssistantBench, which took the one for texts from DROP.
"""

from __future__ import annotations

import math
import re
import string
from collections.abc import Callable, Mapping, Sequence
from statistics import fmean
from typing import Any, TypeVar

T = TypeVar("T")

_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
_NEAR_ZERO = 1e-4
_NO_GAIN = 1e-12

# -- pairing


def score_pairs(given: Sequence[T], wanted: Sequence[T], score: Callable[[T, T], float]) -> float:
    """Return the best mean score of a pairing one to one; what has no partner counts as 0.

    Args:
        given: items of the answer.
        wanted: items of the reference.
        score: of a pair, from 0 on.
    """
    if not given or not wanted:
        return 0.0
    rows = [[score(one, other) for one in given] for other in wanted]
    if len(wanted) > len(given):
        rows = [list(column) for column in zip(*rows, strict=True)]
    return _best_total(rows) / max(len(given), len(wanted))


def _best_total(scores: list[list[float]]) -> float:
    """Return the largest total of one entry for each row, no two of them in one column.

    Rows join one by one, each along the best chain of changes (Bellman and Ford). There must not be more rows
    than columns.
    """
    row_of: dict[int, int] = {}
    for row, best in enumerate(map(list, scores)):
        came_from: dict[int, int] = {}
        is_better = True
        while is_better:
            is_better = False
            for column, owner in row_of.items():
                freed = best[column] - scores[owner][column]
                for other, score in enumerate(scores[owner]):
                    # Sums of fractions differ in their last digits: such a gain could go round for ever.
                    if freed + score > best[other] + _NO_GAIN:
                        best[other], came_from[other], is_better = freed + score, column, True
        column = max((one for one in range(len(best)) if one not in row_of), key=best.__getitem__)
        while column in came_from:
            row_of[column] = row_of[came_from[column]]
            column = came_from[column]
        row_of[column] = row
    return sum(scores[row][column] for column, row in row_of.items())


# -- numbers


def read_number(value: Any) -> Any:
    """Return the number that a value is, as a float; anything else as it is.

    Dollar and percent signs and square feet do not count. A comma is a decimal point: "1,5" is 1.5, and
    "1,000" is 1, as AssistantBench has it.
    """
    if isinstance(value, bool) or not isinstance(value, str | int):
        return value
    text = str(value).replace("$", " ").replace("%", " ").replace("sqft", " ").strip()
    # As published: it makes 1,000 a 1, and scores are compared with those of others.
    text = text.replace(",", ".").replace(" square kilometers", "")
    return float(text) if _is_number(text) else value


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def number_score(given: float, wanted: float) -> float:
    """Return 1 less the logarithm of the ratio, at least 0; 0 for numbers of unlike signs."""
    if given == wanted:
        return 1.0
    # The logarithm of a ratio with zero is infinite.
    given, wanted = given or _NEAR_ZERO, wanted or _NEAR_ZERO
    if not (math.isfinite(given) and math.isfinite(wanted)) or (given < 0) != (wanted < 0):
        return 0.0
    return max(0.0, 1 - abs(math.log(given / wanted)))


# -- texts


def text_score(given: Any, wanted: Any) -> float:
    """Return the mean F1 of words; both may be lists. One number of the reference has to be there."""
    ours, theirs = _bags(given), _bags(wanted)
    return 0.0 if ours is None or theirs is None else score_pairs(ours, theirs, _f1)


def _bags(value: Any) -> list[frozenset[str]] | None:
    items = value if isinstance(value, list) else [value if isinstance(value, str) else str(value)]
    if not all(isinstance(item, str) for item in items):
        return None
    return [frozenset(" ".join(map(_word, re.split(" |-", item))).split()) for item in items]


def _word(text: str) -> str:
    text = text.lower()
    text = text if _is_number(text) else text.translate(_PUNCTUATION)
    return _ARTICLES.sub(" ", str(float(text)) if _is_number(text) else text)


def _f1(given: frozenset[str], wanted: frozenset[str]) -> float:
    numbers = {word for word in wanted if _is_number(word)}
    if numbers and not numbers & given:
        return 0.0
    shared = len(given & wanted)
    precision = shared / len(given) if given else 1.0
    recall = shared / len(wanted) if wanted else 1.0
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


# -- blocks


def block_score(given: Any, wanted: Any) -> float:
    """Return F1 over the keys of two blocks, each value by how close it is; 0 for what is not a block."""
    if not isinstance(given, Mapping) or not isinstance(wanted, Mapping) or not given or not wanted:
        return 0.0
    recall, precision = (
        fmean(_value_score(one[key], other[key]) if key in one else 0.0 for key in other)
        for one, other in ((given, wanted), (wanted, given))
    )
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def _value_score(given: Any, wanted: Any) -> float:
    given, wanted = read_number(given), read_number(wanted)
    if type(given) is not type(wanted):
        return 0.0
    if isinstance(wanted, float):
        return number_score(given, wanted)
    return text_score(given, wanted)
