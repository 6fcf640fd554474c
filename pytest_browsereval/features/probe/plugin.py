"""``probe: failed``: a failed attempt whose known way breaks as well is the site's fault."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pytest_browsereval.model.probe import Probe
    from pytest_browsereval.run.active import ActiveRun
    from pytest_browsereval.run.plan import Trial
    from pytest_browsereval.run.session import Session
    from pytest_browsereval.run.store import RunStore
    from pytest_browsereval.runs.run import StoredRun


def pytest_browsereval_check_run(active_run: ActiveRun) -> None:
    """Refuse probes where the known way would not be played on fresh state, or not on the real site."""
    if active_run.config.probe == "failed" and active_run.trials.makes_attempts:
        from pytest_browsereval.features.probe.checks import check_probes

        check_probes(active_run)


def pytest_browsereval_review_attempt(
    trial: Trial, session: Session, store: RunStore, folder: Path, node_id: str
) -> Awaitable[Probe | None] | None:
    """Play the known way."""
    if session.run.config.probe == "off":
        return None
    from pytest_browsereval.features.probe.probing import probe_attempt

    return probe_attempt(trial, session, store, folder, node_id)


def pytest_browsereval_sum_up(run: StoredRun) -> Mapping[str, Any]:
    """Return how many failures are the site's, and how many the agent's."""
    from pytest_browsereval.features.probe.figures import sum_up_probes

    found = sum_up_probes(run.summary)
    return {"probes": found} if found else {}


def pytest_browsereval_describe_run(run: StoredRun) -> Sequence[str]:
    """Return the same in words."""
    from pytest_browsereval.features.probe.figures import sum_up_probes

    found = sum_up_probes(run.summary)
    return (found["line"],) if found else ()
