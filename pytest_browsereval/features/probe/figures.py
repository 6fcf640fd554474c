"""How many failures of a run are the site's and how many the agent's, and what the pass rate is with both."""

from __future__ import annotations

from typing import Any

from pytest_browsereval.features.shared.probes import count_probes
from pytest_browsereval.model.display import percent
from pytest_browsereval.runs.summary import RunSummary


def sum_up_probes(summary: RunSummary) -> dict[str, Any]:
    """Return the figures for ``summary.json``, with the line that says them; none without a probe."""
    count = count_probes(trial.last for trial in summary.plain if trial.last.probe is not None)
    if not count.total:
        return {}
    passed, of = summary.rate.passed, summary.rate.judged + count.site
    line, rate = count.describe("probed failure"), passed / of if of else None
    if count.site and rate is not None:
        line += f"; pass rate with those of the site as failures {percent(rate)} ({passed:,}/{of:,})"
    return {
        "line": line,
        "site": count.site,
        "agent": count.agent,
        "unknown": count.unknown,
        "breaks_at": list(count.places),
        "pass_rate_with_site": None if rate is None else round(rate, 6),
    }
