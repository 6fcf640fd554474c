"""Summary of a run: its trials, and the figures of ``summary.json``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from pytest_browsereval.model.grades import Verdict
from pytest_browsereval.runs.attempt import GradeDigest, StoredAttempt
from pytest_browsereval.runs.passrate import PassRate, pass_rate
from pytest_browsereval.runs.repeats import Repeats, repeats
from pytest_browsereval.runs.trial import StoredTrial, total_cost
from pytest_browsereval.stats.statistics import Share

MOST_FINGERPRINTS = 10
"""Rules of one grader that a summary names; of a grader whose rules stand in each row there are as many."""

PARTS: Mapping[str, Callable[[StoredAttempt], Iterable[str]]] = {
    "by_tag": lambda one: one.tags,
    "by_website": lambda one: filter(None, [one.website]),
}
"""Which parts of the trials have a rate of their own, and in which of them a trial is."""


@dataclass(frozen=True)
class RunSummary:
    """All trials of a run that have a result.

    ``runs.passrate`` defines the pass rate: it leaves errored trials out, and counts them separately.
    """

    trials: tuple[StoredTrial, ...]
    deaths: int = 0
    """Processes that have died while no trial can be blamed for it."""

    @cached_property
    def plain(self) -> tuple[StoredTrial, ...]:
        """The trials of rows that are not derived: rates, counts of verdicts and repeats are of these."""
        return tuple(trial for trial in self.trials if trial.last.derived is None)

    @cached_property
    def rate(self) -> PassRate:
        """The pass rate with its denominator, its intervals and what is left out."""
        return pass_rate(trial.last for trial in self.plain)

    @cached_property
    def repeats(self) -> Repeats | None:
        """What repeated trials show; None where no task has more than one."""
        return repeats((trial.last, len(trial.attempts)) for trial in self.plain)

    def count(self, verdict: Verdict) -> int:
        """Return how many trials have that verdict."""
        return sum(trial.last.verdict is verdict for trial in self.plain)

    @property
    def judged(self) -> int:
        """The pass rate's denominator: trials that passed or failed."""
        return self.rate.judged

    @property
    def pass_rate(self) -> float | None:
        """From 0 to 1; None when no trial was judged."""
        return self.rate.value

    @property
    def error_rate(self) -> float | None:
        """Errored trials over all trials; None when there is none."""
        return self.rate.errors.value

    @property
    def cost_usd(self) -> float | None:
        """What all attempts' models cost together; None when a part of it is not known."""
        return total_cost(trial.cost_usd for trial in self.trials)

    @property
    def known_cost(self) -> tuple[float, int]:
        """What is known of the cost, and of how many attempts it is not known."""
        costs = [one.cost_usd for trial in self.trials for one in trial.attempts]
        return sum(cost for cost in costs if cost is not None), costs.count(None)

    @property
    def false_claims(self) -> Share:
        """Of the judged trials in which the agent ended on its own with an answer, those that failed."""
        claims = [one.last.verdict for one in self.plain if one.last.is_answered]
        failed = claims.count(Verdict.FAILED)
        return Share(failed, failed + claims.count(Verdict.PASSED))

    def rates_by(self, key: str) -> dict[str, PassRate]:
        """Return the pass rates of parts of the trials, in alphabetical order.

        Args:
            key: one of ``PARTS``.
        """
        parts: dict[str, list[StoredAttempt]] = {}
        for trial in self.plain:
            for name in dict.fromkeys(PARTS[key](trial.last)):
                parts.setdefault(name, []).append(trial.last)
        return {name: pass_rate(parts[name]) for name in sorted(parts)}

    @cached_property
    def fingerprints(self) -> dict[str, set[str]]:
        """By what rules each grader that decides has judged; "" stands for rules that are not known."""
        found: dict[str, set[str]] = {}
        for trial in self.plain:
            for name, grade in trial.last.grader_results.items():
                if not grade.advisory:
                    found.setdefault(name, set()).add(grade.fingerprint)
        return found

    def errors_by_source(self) -> dict[str, int]:
        """Return how many trials each source of errors cost."""
        return dict(Counter(str(t.last.error_source) for t in self.plain if t.last.error_source is not None))

    @property
    def disagreements(self) -> tuple[StoredTrial, ...]:
        """Trials whose verdict a grader contradicts that is advisory or was outvoted.

        (Where all have to pass, the verdict's own reason names those that failed.)
        """
        return tuple(trial for trial in self.plain if _is_contradicted(trial.last))

    def as_json(self) -> dict[str, Any]:
        """Return the content of ``summary.json``."""
        return {**self.figures(), "results": list(self.list_results())}

    def list_results(self) -> Iterator[dict[str, Any]]:
        """Yield the trials as ``summary.json`` has them: those of 200,000 take 500 MiB at once."""
        return map(_row, self.trials)

    def figures(self) -> dict[str, Any]:
        """Return the content of ``summary.json`` without the trials."""
        (known, unknown), rate = self.known_cost, self.rate.as_json()
        of_unknown = {"known_cost_usd": known, "attempts_of_unknown_cost": unknown} if unknown else {}
        return {
            "trials": len(self.trials),
            "passed": self.count(Verdict.PASSED),
            "failed": self.count(Verdict.FAILED),
            "errored": self.count(Verdict.ERRORED),
            "judged": self.judged,
            "pass_rate": self.pass_rate,
            # The other keys are in the summary under names of their own.
            "pass_rate_intervals": {key: rate[key] for key in ("interval", "by_site", "by_task")},
            "error_rate": self.error_rate,
            "errors_by_source": self.errors_by_source(),
            **({"deaths": self.deaths} if self.deaths else {}),
            "cost_usd": self.cost_usd,
            **of_unknown,
            "false_claims": {"count": self.false_claims.hits, "of": self.false_claims.of},
            **{key: {name: _part(rate) for name, rate in self.rates_by(key).items()} for key in PARTS},
            **({"repeats": self.repeats.as_json()} if self.repeats else {}),
            "graders": {
                name: _shorten(sorted(named))
                for name, prints in sorted(self.fingerprints.items())
                if (named := prints - {""})
            },
            "disagreements": [_disagreement(trial) for trial in self.disagreements],
        }


def _part(rate: PassRate) -> dict[str, Any]:
    interval = rate.interval and rate.interval.as_json()
    counts = {"passed": rate.passed, "failed": rate.failed, "errored": sum(rate.errored.values())}
    return {**counts, "pass_rate": rate.value, "interval": interval}


def _row(trial: StoredTrial) -> dict[str, Any]:
    data = trial.last
    return {
        "query_id": data.query_id,
        "variant": data.variant,
        "trial": data.trial,
        **({"row_hash": data.row_hash} if data.row_hash else {}),
        **({"derived_by": data.derived.by, data.derived.by: data.derived.name} if data.derived else {}),
        "attempts": len(trial.attempts),
        "verdict": str(data.verdict),
        "error_source": data.error_source and str(data.error_source),
        "reason": data.reason,
        "steps": data.total_steps,
        "warnings": data.warning_count,
        "duration_ms": data.total_duration_ms,
        "cost_usd": trial.cost_usd,
        "termination_reason": str(data.termination_reason),
        "grades": _grades(data, "score", lambda grade: grade.score),
    }


def _shorten(fingerprints: list[str]) -> list[str]:
    """Return the rules of a grader; of many of them what they have in common."""
    if len(fingerprints) <= MOST_FINGERPRINTS:
        return fingerprints
    # The last part is a hash of options, which differ where each row has its own; the row's hash covers them.
    return sorted({f"{one.rpartition('/')[0]}/*" for one in fingerprints})[:MOST_FINGERPRINTS]


def _is_contradicted(data: StoredAttempt) -> bool:
    others = {Verdict.PASSED: Verdict.FAILED, Verdict.FAILED: Verdict.PASSED}
    return any(
        grade.verdict is others.get(data.verdict) and (grade.advisory or data.verdict is Verdict.PASSED)
        for grade in data.grader_results.values()
    )


def _disagreement(trial: StoredTrial) -> dict[str, Any]:
    data = trial.last
    return {
        "query_id": data.query_id,
        "variant": data.variant,
        "trial": data.trial,
        "verdict": str(data.verdict),
        "grades": _grades(data, "reason", lambda grade: grade.reasoning),
    }


def _grades(data: StoredAttempt, key: str, value: Callable[[GradeDigest], Any]) -> dict[str, dict[str, Any]]:
    grades: dict[str, dict[str, Any]] = {}
    for name, grade in data.grader_results.items():
        grades[name] = {"verdict": str(grade.verdict), key: value(grade)}
        if grade.advisory:
            grades[name]["advisory"] = True
    return grades


def list_judge_changes(before: RunSummary, after: RunSummary) -> Iterator[str]:
    """Yield the graders that decide and are not the same in two runs, by their fingerprints."""
    a, b = before.fingerprints, after.fingerprints
    for name in sorted(a.keys() | b.keys()):
        if a.get(name) != b.get(name):
            yield f"grader {name}: {_join_rules(a.get(name))} -> {_join_rules(b.get(name))}"


def _join_rules(fingerprints: set[str] | None) -> str:
    return " and ".join(sorted(one or "without a fingerprint" for one in fingerprints or ("not asked",)))
