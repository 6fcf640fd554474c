"""Agreement of grades with human labels: beyond chance, and as a confusion table."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pytest_browsereval.model.grades import Verdict
from pytest_browsereval.stats import statistics


@dataclass(frozen=True)
class Kappa:
    """Cohen's kappa: the agreement of two judges beyond chance, 1 where they always agree."""

    value: float
    standard_error: float
    interval: statistics.Interval

    def as_json(self) -> dict[str, Any]:
        """Return it as plain values."""
        return {**asdict(self), "interval": self.interval.as_json()}


def cohens_kappa(table: Sequence[Sequence[int]], confidence: float = statistics.CONFIDENCE) -> Kappa | None:
    """Return Cohen's kappa of a square table of counts, rows by one judge and columns by the other.

    Its interval is by the asymptotic standard error of Fleiss, Cohen and Everitt (1969). That error is 0
    where all agree, or where one judge says the same of all, however few cases there are; the interval then
    follows from Wilson's of the observed agreement, with chance held fixed as Cohen (1960) holds it.

    Returns:
        None where it is not defined: there is no case, or both judges say the same of all.
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
        reach = statistics.quantile(confidence) * error
        low, high = value - reach, value + reach
    else:
        seen = statistics.wilson(agreed, total, confidence)
        low, high = ((end - chance) / (1 - chance) for end in (seen.low, seen.high))
    return Kappa(value, error, statistics.Interval(max(-1.0, low), min(1.0, high)))


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


# -- the confusion table and its figures


@dataclass(frozen=True)
class Confusion:
    """How many attempts were graded and labelled in which way; *positive* is a pass."""

    true_positive: int = 0
    """Both say pass."""
    false_positive: int = 0
    """The grade says pass, people say fail."""
    true_negative: int = 0
    """Both say fail."""
    false_negative: int = 0
    """The grade says fail, people say pass."""

    @property
    def total(self) -> int:
        """All four."""
        return sum(self.table[0]) + sum(self.table[1])

    @property
    def table(self) -> tuple[tuple[int, int], tuple[int, int]]:
        """A row for each grade, a column for each label, pass before fail."""
        return (self.true_positive, self.false_positive), (self.false_negative, self.true_negative)

    @property
    def kappa(self) -> Kappa | None:
        """Agreement beyond chance; None where it is not defined."""
        return cohens_kappa(self.table)

    @property
    def shares(self) -> Mapping[str, statistics.Share]:
        """All shares by their names in reports and files.

        *accuracy*: grades that people agree with. *precision*: of what the grader passes, what people pass.
        *recall*: of what people pass, what the grader passes. The other two: of what people fail, what the
        grader passes; of what people pass, what it fails.
        """
        (true_positive, false_positive), (false_negative, true_negative) = self.table
        return {
            "accuracy": statistics.Share(true_positive + true_negative, self.total),
            "precision": statistics.Share(true_positive, true_positive + false_positive),
            "recall": statistics.Share(true_positive, true_positive + false_negative),
            "false_positive_rate": statistics.Share(false_positive, false_positive + true_negative),
            "false_negative_rate": statistics.Share(false_negative, false_negative + true_positive),
        }


@dataclass(frozen=True)
class Disagreement:
    """An attempt whose grade is not what people say, or that has no score."""

    attempt: str
    label: str
    grade: Verdict
    reason: str
    """The first line of the grade's reasoning."""
    folder: Path

    def as_json(self) -> dict[str, str]:
        """Return it as plain values."""
        return {name: str(value) for name, value in asdict(self).items()}


@dataclass(frozen=True)
class Agreement:
    """A grader against people, under one fingerprint: grades under another one are not like these."""

    grader: str
    fingerprint: str
    """Empty for grades that have none."""
    is_advisory: bool
    """Whether all its grades are advisory ones."""
    confusion: Confusion
    missing: int
    """Labelled attempts that it did not grade."""
    disagreements: tuple[Disagreement, ...] = ()
    errored: tuple[Disagreement, ...] = ()
    """Labelled attempts that it could not judge: never counted as failed, in none of the figures."""

    @property
    def n(self) -> int:
        """How many attempts were compared."""
        return self.confusion.total

    def as_json(self) -> dict[str, Any]:
        """Return it as plain values."""
        return {
            "grader": self.grader,
            "fingerprint": self.fingerprint,
            "advisory": self.is_advisory,
            "n": self.n,
            "errored": len(self.errored),
            "not_graded": self.missing,
            "confusion": asdict(self.confusion),
            **{name: _describe_share(share) for name, share in self.confusion.shares.items()},
            "kappa": self.confusion.kappa and self.confusion.kappa.as_json(),
            "disagreements": [one.as_json() for one in self.disagreements],
            "errored_grades": [one.as_json() for one in self.errored],
        }


@dataclass(frozen=True)
class People:
    """Two labellers against each other: no grader can be shown to be better than that."""

    first: str
    second: str
    confusion: Confusion
    """What both say, the first one in the place of a grader."""

    def as_json(self) -> dict[str, Any]:
        """Return it as plain values."""
        counts = self.confusion
        return {
            "labellers": [self.first, self.second],
            "n": counts.total,
            "agreement": _describe_share(counts.shares["accuracy"]),
            "kappa": counts.kappa and counts.kappa.as_json(),
        }


def _describe_share(share: statistics.Share) -> dict[str, Any]:
    interval = share.interval and share.interval.as_json()
    return {"value": share.value, "hits": share.hits, "of": share.of, "interval": interval}
