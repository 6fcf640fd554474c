"""Agreement of grades with human labels: the confusion table and its figures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pytest_browsereval.features.labelling.statistics import Kappa, cohens_kappa
from pytest_browsereval.model.grades import Verdict
from pytest_browsereval.stats.statistics import Share


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
    def accuracy(self) -> Share:
        """Grades that people agree with."""
        return Share(self.true_positive + self.true_negative, self.total)

    @property
    def precision(self) -> Share:
        """Of what the grader passes, what people pass."""
        return Share(self.true_positive, self.true_positive + self.false_positive)

    @property
    def recall(self) -> Share:
        """Of what people pass, what the grader passes."""
        return Share(self.true_positive, self.true_positive + self.false_negative)

    @property
    def false_positive_rate(self) -> Share:
        """Of what people fail, what the grader passes."""
        return Share(self.false_positive, self.false_positive + self.true_negative)

    @property
    def false_negative_rate(self) -> Share:
        """Of what people pass, what the grader fails."""
        return Share(self.false_negative, self.false_negative + self.true_positive)

    @property
    def kappa(self) -> Kappa | None:
        """Agreement beyond chance; None where it is not defined."""
        return cohens_kappa(self.table)

    @property
    def shares(self) -> Mapping[str, Share]:
        """All shares by their names in reports and files."""
        return {
            "accuracy": self.accuracy,
            "precision": self.precision,
            "recall": self.recall,
            "false_positive_rate": self.false_positive_rate,
            "false_negative_rate": self.false_negative_rate,
        }


@dataclass(frozen=True)
class Disagreement:
    """An attempt whose grade is not what people say, or that has no score."""

    attempt: str
    label: str
    verdict: Verdict
    reason: str
    """The first line of the grade's reasoning."""
    folder: Path


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
        counts = self.confusion
        return {
            "grader": self.grader,
            "fingerprint": self.fingerprint,
            "advisory": self.is_advisory,
            "n": self.n,
            "errored": len(self.errored),
            "not_graded": self.missing,
            "confusion": {
                "true_positive": counts.true_positive,
                "false_positive": counts.false_positive,
                "true_negative": counts.true_negative,
                "false_negative": counts.false_negative,
            },
            **{name: share_json(share) for name, share in counts.shares.items()},
            "kappa": kappa_json(counts.kappa),
            "disagreements": [_as_json(one) for one in self.disagreements],
            "errored_grades": [_as_json(one) for one in self.errored],
        }


@dataclass(frozen=True)
class People:
    """Two labellers against each other: no grader can be shown to be better than that."""

    first: str
    second: str
    table: tuple[tuple[int, int], tuple[int, int]] = field(repr=False)
    """A row for each word of the first, a column for each of the second, pass before fail."""

    @property
    def agreement(self) -> Share:
        """Attempts on which both say the same."""
        return Share(self.table[0][0] + self.table[1][1], sum(map(sum, self.table)))

    @property
    def kappa(self) -> Kappa | None:
        """The same beyond chance; None where it is not defined."""
        return cohens_kappa(self.table)

    def as_json(self) -> dict[str, Any]:
        """Return it as plain values."""
        return {
            "labellers": [self.first, self.second],
            "n": self.agreement.of,
            "agreement": share_json(self.agreement),
            "kappa": kappa_json(self.kappa),
        }


def share_json(share: Share) -> dict[str, Any]:
    """Return a share with its interval as plain values."""
    return {
        "value": share.value,
        "hits": share.hits,
        "of": share.of,
        "interval": share.interval and share.interval.as_json(),
    }


def kappa_json(kappa: Kappa | None) -> dict[str, Any] | None:
    """Return a kappa with its interval as plain values."""
    if kappa is None:
        return None
    return {
        "value": kappa.value,
        "standard_error": kappa.standard_error,
        "interval": kappa.interval.as_json(),
    }


def _as_json(one: Disagreement) -> dict[str, Any]:
    return {
        "attempt": one.attempt,
        "label": one.label,
        "grade": str(one.verdict),
        "reason": one.reason,
        "folder": str(one.folder),
    }
