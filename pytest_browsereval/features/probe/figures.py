"""How many failures of a run are the site's and how many the agent's, and what the pass rate is with both."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pytest_browsereval.features.shared.probes import ProbeCount, count_probes
from pytest_browsereval.model.display import percent
from pytest_browsereval.runs.summary import RunSummary


@dataclass(frozen=True)
class ProbeFigures:
    """What probes have found of trials that did not pass."""

    count: ProbeCount
    passed: int
    judged: int
    """Trials that passed or failed."""

    @property
    def strict_rate(self) -> float:
        """The pass rate with the failures counted that are the site's."""
        return self.passed / (self.judged + self.count.site)

    def as_json(self) -> dict[str, Any]:
        """Return the figures for ``summary.json``."""
        one = self.count
        counts = {"site": one.site, "agent": one.agent, "unknown": one.unknown, "breaks_at": list(one.places)}
        return {**counts, "pass_rate_with_site": round(self.strict_rate, 6)}

    def describe(self) -> str:
        """Return the figures in a line."""
        rate = f"{percent(self.strict_rate)} ({self.passed:,}/{self.judged + self.count.site:,})"
        with_site = f"; pass rate with those of the site as failures {rate}" if self.count.site else ""
        return f"{self.count.describe('probed failure')}{with_site}"


def find_figures(summary: RunSummary) -> ProbeFigures | None:
    """Return the figures of a run; None if no known way was played."""
    count = count_probes(trial.last for trial in summary.plain if trial.last.probe is not None)
    return ProbeFigures(count, summary.rate.passed, summary.rate.judged) if count.total else None
