"""How many failures are the site's and how many the agent's, as far as known ways tell."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

from pytest_browsereval.model.display import join_first, percent
from pytest_browsereval.model.grades import Verdict
from pytest_browsereval.model.probe import ProbeOutcome
from pytest_browsereval.runs.summary import RunSummary


@dataclass(frozen=True)
class ProbeFigures:
    """What probes have found of trials that did not pass."""

    site: int
    agent: int
    unknown: int
    passed: int
    judged: int
    """Trials that passed or failed."""
    places: tuple[str, ...]
    """Where known ways break, the most frequent first."""

    @property
    def strict_rate(self) -> float:
        """The pass rate with the failures counted that are the site's."""
        return self.passed / (self.judged + self.site)

    def as_json(self) -> dict[str, Any]:
        """Return the figures for ``summary.json``."""
        counts = {"site": self.site, "agent": self.agent, "unknown": self.unknown}
        return {**counts, "breaks_at": list(self.places), "pass_rate_with_site": round(self.strict_rate, 6)}

    def describe(self) -> str:
        """Return the figures in a line."""
        parts = [f"{self.site:,} of the site{self._where}", f"{self.agent:,} of the agent"]
        parts += [f"{self.unknown:,} not known"] if self.unknown else []
        total = self.site + self.agent + self.unknown
        rate = f"{percent(self.strict_rate)} ({self.passed:,}/{self.judged + self.site:,})"
        with_site = f"; pass rate with those of the site as failures {rate}" if self.site else ""
        return f"{total:,} probed failures: {', '.join(parts)}{with_site}"

    @property
    def _where(self) -> str:
        return f" (the known way breaks at {join_first(self.places, 3)})" if self.places else ""


def count_probes(summary: RunSummary) -> ProbeFigures | None:
    """Return the figures of a run; None if no known way was played."""
    data = [trial.last for trial in summary.plain if trial.last.verdict is not Verdict.PASSED]
    probed = [(one.probe, one.verdict) for one in data if one.probe is not None]
    if not probed:
        return None
    # A regrade by other rules may have made a failure of it again.
    site = [probe for probe, verdict in probed if probe.is_broken and verdict is Verdict.ERRORED]
    agent = sum(probe.outcome is ProbeOutcome.WORKS for probe, _ in probed)
    places = Counter(one.target or "its end" for one in site)
    return ProbeFigures(
        site=len(site),
        agent=agent,
        unknown=len(probed) - len(site) - agent,
        passed=summary.rate.passed,
        judged=summary.rate.judged,
        places=tuple(name for name, _ in places.most_common()),
    )
