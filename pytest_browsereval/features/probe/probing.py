"""One probe for each row and variant that has failed: is it the site's fault, or the agent's?"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from pathlib import Path

from pytest_browsereval.features.probe.journal import find_probe, hold_row, write_probe
from pytest_browsereval.features.probe.playing import FOLDER, Played, Player
from pytest_browsereval.features.probe.ways import NotTriedError, Way, find_ways
from pytest_browsereval.graders.base import GraderConfig
from pytest_browsereval.graders.nested import unfold
from pytest_browsereval.model.probe import Probe, ProbeOutcome
from pytest_browsereval.needs import ask_needs
from pytest_browsereval.run.active import ActiveRun
from pytest_browsereval.run.plan import Trial
from pytest_browsereval.run.relations import list_own_sites
from pytest_browsereval.run.session import Session
from pytest_browsereval.run.store import RunStore

SAYS = {
    ProbeOutcome.BROKEN: "the known way no longer works; ",
    ProbeOutcome.WORKS: "the known way works, so this is the agent's failure",
    ProbeOutcome.UNPROVED: "the known way was not proved, and breaks as well; ",
    ProbeOutcome.UNDECIDED: "the known way ",
}


async def probe_attempt(
    trial: Trial, session: Session, store: RunStore, folder: Path, node_id: str
) -> Probe | None:
    """Return what the known way of a row comes to; None if it has none.

    Args:
        trial: has failed.
        session: browser and sites of the process.
        store: the run that records it.
        folder: of the attempt.
        node_id: of its item.

    Raises:
        OSError: the run folder cannot be written.
    """
    run = session.run
    try:
        async with hold_row(store, trial):
            if (known := await asyncio.to_thread(find_probe, store, trial, run.began)) is not None:
                return known
            async with asyncio.timeout(_find_time_left(run)):
                ways = await asyncio.to_thread(find_ways, trial, run, store.root)
                if not ways[-1].steps:
                    return None
                _check_attempt(trial, run)
                probe = await _probe(ways, session, folder, node_id)
            probe = probe.model_copy(update={"place": (folder / FOLDER).relative_to(store.root).as_posix()})
            await asyncio.to_thread(write_probe, store, trial, ways[-1].hash, run.began, probe)
            return probe
    except NotTriedError as why:
        return _make_probe(ProbeOutcome.UNDECIDED, f"was not tried: {why}")
    except TimeoutError:
        return _make_probe(ProbeOutcome.UNDECIDED, "was not tried to its end: budget.max_minutes is used up")


def _find_time_left(run: ActiveRun) -> float | None:
    minutes = run.config.budget.max_minutes
    return None if minutes is None else max(run.began + minutes * 60 - time.time(), 0.0)


def _check_attempt(trial: Trial, run: ActiveRun) -> None:
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


async def _probe(ways: Sequence[Way], session: Session, folder: Path, node_id: str) -> Probe:
    last = ways[-1].trial
    player = Player(session, last.key.variant, folder / FOLDER, node_id)
    player.check(ways)
    first = await player.play(ways)
    if first.is_unclear:
        return _make_probe(ProbeOutcome.UNDECIDED, f"could not be tried: {first.text}")
    if first.has_passed:
        blind = "" if _checks_site(last) else "; nothing checked its answer against the page"
        return _make_probe(ProbeOutcome.WORKS, blind)
    second = await player.play(ways, is_slow=True)  # the page may need the time that the agent took
    is_alike = not second.has_passed and (second.row, second.step) == (first.row, first.step)
    if second.is_unclear or not is_alike:
        then = "passed" if second.has_passed else _describe(second, last)
        return _make_probe(ProbeOutcome.UNDECIDED, f"is not clear: {_describe(first, last)}; then {then}")
    outcome = ProbeOutcome.BROKEN if all(way.is_proved for way in ways) else ProbeOutcome.UNPROVED
    probe = _make_probe(outcome, _describe(second, last))
    return probe.model_copy(update={"step": second.step, "target": second.target})


def _checks_site(trial: Trial) -> bool:
    """Whether a grader that is asked looks at more than the answer, which is the same on any page."""
    for grader in (part for one in trial.graders for part in unfold(one)):
        needs = ask_needs(grader, trial.task)
        looks = type(grader).observe is not GraderConfig.observe if needs.page is None else needs.page
        if not grader.advisory and not needs.models and (looks or needs.traffic or grader.reads.effects):
            return True
    return False


def _describe(played: Played, last: Trial) -> str:
    """Return where a way breaks, and how."""
    where = f"step {played.step} of it" if played.step else "its start page"
    if played.step is None:
        where = "all steps work, but the end is wrong"
    of = "" if played.row == last.key.query_id else f"of {played.row!r}, which the row depends on, "
    return f"{of}{where}{': ' if played.text else ''}{played.text}"


def _make_probe(outcome: ProbeOutcome, text: str) -> Probe:
    return Probe(outcome=outcome, reason=f"{SAYS[outcome]}{text}")
