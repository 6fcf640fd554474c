"""The pass rate: defines its numerator, its denominator and what is left out.

A trial counts by its last attempt. The rate is ``passed / (passed + failed)``; errored trials and those that
have no result are in neither number, and always counted next to it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from pytest_browsereval.errors import ErrorSource
from pytest_browsereval.model.grades import Verdict
from pytest_browsereval.runs.attempt import StoredAttempt
from pytest_browsereval.runs.summary_file import Result
from pytest_browsereval.stats.statistics import CONFIDENCE, Clustered, Interval, Share, pool_groups, wilson


@dataclass(frozen=True)
class PassRate:
    """How many of the judged trials passed, and what was not judged."""

    passed: int
    failed: int
    errored: Mapping[str, int]
    """Trials by what broke."""
    not_run: int | None = None
    """Trials that were to be made and have no result; None if unknown."""
    sites: int = 0
    """The number of sites with judged trials."""
    by_site: Clustered | None = None
    """Trials on one site are alike; None where there are not two sites, or a trial whose site is unknown."""
    by_task: Clustered | None = None
    """Trials of one task are alike; None where each task has one, and where there is one task only."""
    tasks: int = 0
    """The number of tasks with judged trials."""
    confidence: float = CONFIDENCE
    """The confidence of the intervals."""

    @property
    def share(self) -> Share:
        """Passed trials among those that passed or failed."""
        return Share(self.passed, self.passed + self.failed)

    @property
    def judged(self) -> int:
        """The denominator."""
        return self.share.of

    @property
    def value(self) -> float | None:
        """From 0 to 1; None when no trial was judged."""
        return self.share.value

    @property
    def interval(self) -> Interval | None:
        """Wilson's, as if all trials were independent; None when no trial was judged."""
        return wilson(self.passed, self.judged, self.confidence) if self.judged else None

    @property
    def is_of_one_task(self) -> bool:
        """Whether several trials of a single task were judged: how tasks differ is unknown then."""
        return self.tasks == 1 and self.judged > 1

    @property
    def errors(self) -> Share:
        """Errored trials among those that have a result."""
        errored = sum(self.errored.values())
        return Share(errored, self.judged + errored)

    @property
    def excluded(self) -> dict[str, int]:
        """What is in neither number, with its count; empty classes are left out."""
        not_run = {"not run": self.not_run} if self.not_run else {}
        return {**{f"errored: {source}": count for source, count in self.errored.items()}, **not_run}

    def as_json(self) -> dict[str, Any]:
        """Return it as plain values."""
        ends = self.interval
        return {
            "value": self.value,
            "passed": self.passed,
            "judged": self.judged,
            "excluded": self.excluded,
            "interval": ends and ends.as_json(),
            "by_site": _groups_as_json(self.by_site),
            "by_task": _groups_as_json(self.by_task),
        }


def _groups_as_json(found: Clustered | None) -> dict[str, Any] | None:
    if found is None:
        return None
    return {
        "groups": found.groups,
        "standard_error": found.standard_error,
        "interval": found.interval.as_json(),
    }


def pass_rate(
    trials: Iterable[StoredAttempt | Result], selected: int | None = None, *, confidence: float = CONFIDENCE
) -> PassRate:
    """Return the pass rate of trials.

    Args:
        trials: each by its last attempt.
        selected: how many trials there were to be; None if unknown.
        confidence: of the intervals.
    """
    errored: Counter[str] = Counter()
    sites: dict[Hashable, tuple[int, int]] = {}
    tasks: dict[Hashable, tuple[int, int]] = {}
    is_passed, is_errored = Verdict.PASSED, Verdict.ERRORED  # a list of runs has millions of trials
    passed = judged = 0
    for trial in trials:
        verdict = trial.verdict
        if verdict == is_errored:
            # In no group of a site or a task either: what broke says nothing of the agent.
            errored[str(trial.error_source or ErrorSource.UNKNOWN)] += 1
            continue
        hit = int(verdict == is_passed)
        passed += hit
        judged += 1
        for groups, name in ((sites, trial.website), (tasks, trial.query_id)):
            hits, of = groups.get(name, (0, 0))
            groups[name] = (hits + hit, of + 1) if of else _FIRST[hit]
    return PassRate(
        passed=passed,
        failed=judged - passed,
        errored=dict(errored.most_common()),
        not_run=None if selected is None else max(0, selected - judged - errored.total()),
        sites=len(sites),
        by_site=None if None in sites else _pool_groups(sites, confidence),
        # With one trial each, tasks are the trials, and Wilson's interval says the same.
        by_task=_pool_groups(tasks, confidence) if judged > len(tasks) else None,
        tasks=len(tasks),
        confidence=confidence,
    )


_FIRST = ((0, 1), (1, 1))
"""Groups of one trial: those of 200,000 tasks would take 15 MiB if each had its own."""


def _pool_groups(groups: Mapping[Hashable, tuple[int, int]], confidence: float) -> Clustered | None:
    return pool_groups((Share(hits, of) for hits, of in groups.values()), confidence)
