"""What known ways tell of attempts that did not pass: the site's fault, or the agent's failure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from pytest_browsereval.model.display import format_count, join_first
from pytest_browsereval.model.grades import Verdict
from pytest_browsereval.model.probe import ProbeOutcome
from pytest_browsereval.runs.attempt import StoredAttempt

MOST_NAMED = 3
"""Places that a line names."""


@dataclass(frozen=True)
class ProbeCount:
    """How many are whose."""

    site: int = 0
    agent: int = 0
    unknown: int = 0
    places: tuple[str, ...] = ()
    """What the steps act on at which known ways break, the most frequent first."""

    @property
    def total(self) -> int:
        """All of them."""
        return self.site + self.agent + self.unknown

    def describe(self, noun: str) -> str:
        """Return the counts in words.

        Args:
            noun: for one of them.
        """
        where = f" (the known way breaks at {join_first(self.places, MOST_NAMED)})" if self.places else ""
        parts = [f"{self.site:,} of the site{where}", f"{self.agent:,} of the agent"]
        parts += [f"{self.unknown:,} not known"] if self.unknown else []
        return f"{format_count(self.total, noun)}: {', '.join(parts)}"


def count_probes(attempts: Iterable[StoredAttempt]) -> ProbeCount:
    """Return whose failures attempts are; those that have passed are left out.

    Args:
        attempts: what was not probed counts as not known.
    """
    bad = [one for one in attempts if one.verdict is not Verdict.PASSED]
    # A regrade by other rules may have made a failure of it again.
    site = [one.probe for one in bad if one.probe and one.probe.is_broken and one.verdict is Verdict.ERRORED]
    agent = sum(one.probe is not None and one.probe.outcome is ProbeOutcome.WORKS for one in bad)
    places = Counter(one.target or "its end" for one in site)
    names = tuple(name for name, _ in places.most_common())
    return ProbeCount(len(site), agent, len(bad) - len(site) - agent, names)
