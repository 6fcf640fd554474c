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

OFF = "Write `probe: off`, or `--eval-set probe=off` on the command line"


def pytest_browsereval_check_run(active_run: ActiveRun) -> None:
    """Refuse probes where the known way would not be played on fresh state, or not on the real site."""
    config = active_run.config
    if config.probe == "off" or not active_run.trials.makes_attempts:
        return
    if config.attacks:
        why = "under attack, the attack may break the known way, not the site"
        raise config.wrong(("probe",), f"{why}. {OFF}, or leave `attacks` out.")
    if active_run.model_calls.mode == "replay":
        raise config.wrong(("probe",), f"a replay does not ask the pages, so no known way can break. {OFF}.")
    for name, site in config.sites.items():
        if site.static is None and site.reset is None:
            why = f"the site {name!r} has no `reset`, so the known way would find what the agent has changed"
            raise config.wrong(("probe",), f"{why}. Give it one (`reset: restart`), or write `probe: off`.")


def pytest_browsereval_review_attempt(
    trial: Trial, session: Session, store: RunStore, folder: Path, node_id: str
) -> Awaitable[Probe | None] | None:
    """Play the known way."""
    if session.run.config.probe == "off":
        return None
    from pytest_browsereval.features.probe.probing import probe_attempt

    return probe_attempt(trial, session, store, folder, node_id)


def pytest_browsereval_sum_up(run: StoredRun) -> Mapping[str, Any]:
    """Return how many failures are the site's and how many the agent's, and the pass rate with both."""
    from pytest_browsereval.features.shared.probes import count_probes
    from pytest_browsereval.model.display import percent

    count = count_probes(trial.last for trial in run.summary.plain if trial.last.probe is not None)
    if not count.total:
        return {}
    passed, of = run.summary.rate.passed, run.summary.rate.judged + count.site
    line, rate = count.describe("probed failure"), passed / of if of else None
    if count.site and rate is not None:
        line += f"; pass rate, if those of the site count as failures: {percent(rate)} ({passed:,}/{of:,})"
    figures = {
        "line": line,
        "site": count.site,
        "agent": count.agent,
        "unknown": count.unknown,
        "breaks_at": list(count.places),
        "pass_rate_with_site": None if rate is None else round(rate, 6),
    }
    return {"probes": figures}


def pytest_browsereval_describe_run(run: StoredRun) -> Sequence[str]:
    """Return the same in words."""
    found = pytest_browsereval_sum_up(run)
    return (found["probes"]["line"],) if found else ()
