"""Agreement of grades with human labels: beyond chance, and as a confusion table."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from pytest_browsereval.stats import statistics


def cohens_kappa(table: Sequence[Sequence[int]]) -> dict[str, Any] | None:
    """Return Cohen's kappa of a square table of counts, rows by one judge and columns by the other.

    Kappa is the agreement of two judges beyond chance, 1 where they always agree.

    Its interval is by the asymptotic standard error of Fleiss, Cohen and Everitt (1969). That error is 0
    where all agree, or where one judge says the same of all, however few cases there are; the interval then
    follows from Wilson's of the observed agreement, with chance held fixed as Cohen (1960) holds it.

    Returns:
        Its ``value``, ``standard_error`` and 95 % ``interval``; None where it is not defined: there is no
        case, or both judges say the same of all.
    """
    total = sum(map(sum, table))
    if not total:
        return None
    rows = [sum(row) / total for row in table]
    columns = [sum(column) / total for column in zip(*table, strict=True)]
    chance = sum(row * column for row, column in zip(rows, columns, strict=True))
    agreed = sum(table[place][place] for place in range(len(table)))
    if math.isclose(chance, 1):
        return None
    value = (agreed / total - chance) / (1 - chance)
    error = math.sqrt(max(0.0, _variance(table, rows, columns, value)))
    if error > statistics.NEXT_TO_NOTHING:
        reach = statistics.quantile() * error
        low, high = value - reach, value + reach
    else:
        seen = statistics.wilson(agreed, total)
        low, high = ((end - chance) / (1 - chance) for end in (seen.low, seen.high))
    return {"value": value, "standard_error": error, "interval": [max(-1.0, low), min(1.0, high)]}


def _variance(
    table: Sequence[Sequence[int]], rows: Sequence[float], columns: Sequence[float], kappa: float
) -> float:
    """Return formula 13 of Fleiss, Cohen and Everitt (1969), without its large-sample null hypothesis."""
    total, places = sum(map(sum, table)), range(len(table))
    chance = sum(rows[i] * columns[i] for i in places)
    same = sum(table[i][i] / total * (1 - (rows[i] + columns[i]) * (1 - kappa)) ** 2 for i in places)
    other = sum(table[i][j] / total * (columns[i] + rows[j]) ** 2 for i in places for j in places if i != j)
    rest = kappa - chance * (1 - kappa)
    return (same + (1 - kappa) ** 2 * other - rest * rest) / (total * (1 - chance) ** 2)


Table = tuple[tuple[int, int], tuple[int, int]]
"""How many attempts were graded and labelled in which way: a row for each grade, a column for each label,
pass before fail."""


def count_pairs(pairs: Sequence[tuple[str, str]]) -> Table:
    """Return the table of grades with labels, each ``pass`` or ``fail``."""
    words = ("pass", "fail")
    first, second = (tuple(pairs.count((grade, label)) for label in words) for grade in words)
    return (first[0], first[1]), (second[0], second[1])


def measure(table: Table) -> dict[str, Any]:
    """Return the figures of a table, as reports and files have them; *positive* is a pass.

    *accuracy*: grades that people agree with. *precision*: of what the grader passes, what people pass.
    *recall*: of what people pass, what the grader passes. The other two: of what people fail, what the
    grader passes; of what people pass, what it fails.
    """
    (true_positive, false_positive), (false_negative, true_negative) = table
    total = sum(table[0]) + sum(table[1])
    shares = {
        "accuracy": (true_positive + true_negative, total),
        "precision": (true_positive, true_positive + false_positive),
        "recall": (true_positive, true_positive + false_negative),
        "false_positive_rate": (false_positive, false_positive + true_negative),
        "false_negative_rate": (false_negative, false_negative + true_positive),
    }
    return {
        "n": total,
        "confusion": {
            "true_positive": true_positive,
            "false_positive": false_positive,
            "true_negative": true_negative,
            "false_negative": false_negative,
        },
        **{name: _describe_share(statistics.Share(*share)) for name, share in shares.items()},
        "kappa": cohens_kappa(table),
    }


def _describe_share(share: statistics.Share) -> dict[str, Any]:
    interval = share.interval and share.interval.as_json()
    return {"value": share.value, "hits": share.hits, "of": share.of, "interval": interval}
