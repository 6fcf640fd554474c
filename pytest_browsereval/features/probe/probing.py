"""One probe for each row and variant that has failed: is it the site's fault, or the agent's?"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from pathlib import Path

from pytest_browsereval.features.probe.checks import NotTriedError, check_attempt
from pytest_browsereval.features.probe.journal import find_probe, hold_row, write_probe
from pytest_browsereval.features.probe.playing import FOLDER, Played, Player
from pytest_browsereval.features.probe.ways import Way, checks_site, find_ways
from pytest_browsereval.model.probe import Probe, ProbeOutcome
from pytest_browsereval.run.active import ActiveRun
from pytest_browsereval.run.plan import Trial
from pytest_browsereval.run.session import Session
from pytest_browsereval.run.store import RunStore

SAYS = {
    ProbeOutcome.BROKEN: "the known way no longer works",
    ProbeOutcome.WORKS: "the known way works, so this is the agent's failure",
    ProbeOutcome.UNPROVED: "the known way was not proved, and breaks as well",
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
                check_attempt(trial, run)
                probe = await _probe(ways, session, folder, node_id)
            probe = probe.model_copy(update={"place": (folder / FOLDER).relative_to(store.root).as_posix()})
            await asyncio.to_thread(write_probe, store, trial, ways[-1].hash, run.began, probe)
            return probe
    except NotTriedError as why:
        return _undecided(f"the known way was not tried: {why}")
    except TimeoutError:
        return _undecided("the known way was not tried to its end: budget.max_minutes is used up")


def _find_time_left(run: ActiveRun) -> float | None:
    minutes = run.config.budget.max_minutes
    return None if minutes is None else max(run.began + minutes * 60 - time.time(), 0.0)


async def _probe(ways: Sequence[Way], session: Session, folder: Path, node_id: str) -> Probe:
    last = ways[-1].trial
    player = Player(session, last.key.variant, folder / FOLDER, node_id)
    player.check(ways)
    first = await player.play(ways)
    if first.is_unclear:
        return _undecided(f"the known way could not be tried: {first.text}")
    if first.has_passed:
        text = "" if checks_site(ways[-1]) else "nothing checked its answer against the page"
        return _make_probe(ProbeOutcome.WORKS, text)
    second = await player.play(ways, is_slow=True)  # the page may need the time that the agent took
    is_alike = not second.has_passed and (second.row, second.step) == (first.row, first.step)
    if second.is_unclear or not is_alike:
        then = "passed" if second.has_passed else _describe(second, last)
        return _undecided(f"the known way is not clear: {_describe(first, last)}; then {then}")
    is_proved = all(way.is_proved for way in ways)
    outcome = ProbeOutcome.BROKEN if is_proved else ProbeOutcome.UNPROVED
    probe = _make_probe(outcome, _describe(second, last))
    return probe.model_copy(update={"step": second.step, "target": second.target})


def _describe(played: Played, last: Trial) -> str:
    """Return where a way breaks, and how."""
    if played.step is None:
        where = "all steps go through, but its end is wrong"
    else:
        where = f"step {played.step} of it" if played.step else "its start page"
    of = "" if played.row == last.key.query_id else f"of {played.row!r}, which the row depends on, "
    return f"{of}{where}{': ' if played.text else ''}{played.text}"


def _undecided(text: str) -> Probe:
    return _make_probe(ProbeOutcome.UNDECIDED, text)


def _make_probe(outcome: ProbeOutcome, text: str) -> Probe:
    return Probe(outcome=outcome, reason="; ".join(filter(None, (SAYS.get(outcome), text))))
