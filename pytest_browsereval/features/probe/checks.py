"""Where no known way can be played, for a whole run or for a row."""

from __future__ import annotations

from pytest_browsereval.errors import BrowserEvalError
from pytest_browsereval.run.active import ActiveRun
from pytest_browsereval.run.plan import Trial
from pytest_browsereval.run.relations import list_own_sites

OFF = "Write `probe: off`, or `--eval-set probe=off` on the command line"


class NotTriedError(BrowserEvalError):
    """The known way of a row cannot be played."""


def check_probes(run: ActiveRun) -> None:
    """Refuse a run whose probes would say nothing.

    Raises:
        ConfigError: pages are attacked or recorded ones, or a site keeps what the agent has changed.
    """
    config = run.config
    if config.attacks:
        why = "under attack the known way may break by the attack, not by the site"
        raise config.wrong(("probe",), f"{why}. {OFF}, or leave `attacks` out.")
    if run.model_calls.mode == "replay":
        raise config.wrong(("probe",), f"a replay does not ask the pages, so no way can break. {OFF}.")
    for name, site in config.sites.items():
        if site.static is None and site.reset is None:
            why = f"the site {name!r} has no `reset`, so the known way would find what the agent has changed"
            raise config.wrong(("probe",), f"{why}. Give it one (`reset: restart`), or write `probe: off`.")


def check_attempt(trial: Trial, run: ActiveRun) -> None:
    """Check that the known way of an attempt's row would be played on fresh state, and may be.

    Raises:
        NotTriedError: it may not.
    """
    sites, task = run.config.sites, trial.task
    own = list_own_sites(task, sites)
    if run.budget.over():
        raise NotTriedError("the budget of the run was used up")
    if held := [name for name in trial.site_urls if sites[name].static is None]:
        raise NotTriedError(f"the test uses the site {held[0]!r}, which is not in its initial state")
    if foreign := [name for name in task.sites if name not in own]:
        raise NotTriedError(f"nothing resets the site {foreign[0]!r}, which the config does not run")
    if task.requires_reset and not own:
        raise NotTriedError("the row changes a site that the config does not run, so nothing resets it")
