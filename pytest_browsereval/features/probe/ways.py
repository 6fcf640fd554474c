"""The known way of a row: its steps, what has to be played before them, and what proves them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from pathlib import Path
from weakref import WeakKeyDictionary

from pydantic import JsonValue

from pytest_browsereval.datasets.ids import safe_id
from pytest_browsereval.errors import DatasetError
from pytest_browsereval.features.probe.checks import NotTriedError
from pytest_browsereval.features.probe.journal import read_probes
from pytest_browsereval.features.probe.steps import read_steps
from pytest_browsereval.features.shared.ways import Call
from pytest_browsereval.graders.base import GraderConfig
from pytest_browsereval.graders.nested import unfold
from pytest_browsereval.model.grades import Verdict
from pytest_browsereval.needs import ask_needs
from pytest_browsereval.redaction.text import redact_json
from pytest_browsereval.run.active import ActiveRun
from pytest_browsereval.run.lookup import earlier
from pytest_browsereval.run.plan import Trial
from pytest_browsereval.run.relations import list_own_sites
from pytest_browsereval.runs.attempt import StoredAttempt
from pytest_browsereval.runs.folder import read_stored
from pytest_browsereval.runs.run import StoredRun
from pytest_browsereval.sites import RESTART, fill

MOST_RUNS = 10
"""Earlier runs that are looked through for a proof, the newest first."""
MOST_PASSES = 5
"""Attempts whose steps are looked at."""


@dataclass(frozen=True)
class Way:
    """Steps that solve a row."""

    trial: Trial
    steps: tuple[Call, ...]
    """None of a row that has no known way."""
    is_proved: bool = False
    """Whether they have passed with the row as it is."""
    pause_s: float = 0.0
    """The longest pause between two actions of the agent that passed with them."""

    @cached_property
    def hash(self) -> str:
        """Tells it from other ways."""
        return hash_steps(self.steps)


def hash_steps(steps: Sequence[Mapping[str, JsonValue]]) -> str:
    """Return 16 hex digits over steps."""
    return hashlib.sha256(json.dumps(list(steps), sort_keys=True).encode()).hexdigest()[:16]


def checks_site(way: Way) -> bool:
    """Whether a grader that is asked looks at more than the answer, which is the same on any page."""
    task = way.trial.task
    for grader in (part for one in way.trial.graders for part in unfold(one)):
        needs = ask_needs(grader, task)
        looks = type(grader).observe is not GraderConfig.observe if needs.page is None else needs.page
        if not grader.advisory and not needs.models and (looks or needs.traffic or grader.reads.effects):
            return True
    return False


def find_ways(trial: Trial, run: ActiveRun, root: Path) -> list[Way]:
    """Return the known way of a row, behind those of rows that leave something behind for it.

    Args:
        trial: at the row.
        run: its files are read for proofs, and those of earlier runs of its config.
        root: the folder of the run that records the attempt.

    Raises:
        NotTriedError: a row that it depends on is not there.
    """
    runs = _list_runs(run, root)
    return [_find_way(one, run, runs) for one in (*_list_before(trial, run), trial)]


def _list_before(trial: Trial, run: ActiveRun) -> list[Trial]:
    """Return the trials that a row depends on, in order, as far as a site keeps what they have changed.

    Windows are new for each row, and so are sites: all but those that a restart resets, between rows that do
    not ask for it.
    """
    sites, found = run.config.sites, dict[str, Trial]()
    restarted = {name for name, site in sites.items() if site.reset == RESTART}

    def visit(query_id: str) -> None:
        entries = run.plan.entries(only={safe_id(query_id)}, is_limited=False)
        entry = next((one for one in entries if one.variant == trial.key.variant), None)
        if entry is None:
            raise NotTriedError(f"the config does not have the row {query_id!r}, which it depends on")
        if query_id not in found:
            before = run.plan.ready(entry)
            for other in before.task.depends_on:
                visit(other)
            found[query_id] = before

    if not trial.task.requires_reset and restarted & list_own_sites(trial.task, sites):
        for other in trial.task.depends_on:
            visit(other)
    before = [*found.values()]
    resets = [place for place, one in enumerate(before) if one.task.requires_reset]
    return before[resets[-1] + 1 :] if resets else before


def _find_way(trial: Trial, run: ActiveRun, runs: Sequence[StoredRun]) -> Way:
    """Return the solution if it is proved, else the steps of a pass, else the solution."""
    own = Way(trial, trial.task.solution)
    if own.steps and any(_is_proved(own, one, run) for one in runs):
        return replace(own, is_proved=True)
    passed = (one for stored in runs for one in _list_passed(trial, stored))
    for attempt in () if trial.task.protected else islice(passed, MOST_PASSES):
        if (found := read_steps(attempt, run.config, trial.task.query)) is not None:
            is_proved = found.is_sure or any(_has_probed(trial, hash_steps(found.calls), one) for one in runs)
            way = Way(trial, found.calls, is_proved, found.pause_s)
            if way.is_proved or not own.steps:
                return way
    return own


RUNS: WeakKeyDictionary[ActiveRun, dict[Path, list[StoredRun]]] = WeakKeyDictionary()
"""Earlier runs that were read already, by the folder of the run that they are earlier than."""


def _list_runs(run: ActiveRun, root: Path) -> list[StoredRun]:
    """Return this run, the one that it is compared with, and the latest before it."""
    known = RUNS.setdefault(run, {})
    if root not in known:
        baseline = [run.baseline] if run.baseline is not None and run.baseline.is_dir() else []
        known[root] = [StoredRun(one) for one in (*baseline, *islice(earlier(root), MOST_RUNS))]
    return [StoredRun(root), *known[root]]


def _list_passed(trial: Trial, stored: StoredRun) -> list[StoredAttempt]:
    key = trial.key.query_id, trial.content_hash, Verdict.PASSED
    lines = stored.update_lines().list_all()
    return [one for one in lines if (one.query_id, one.row_hash, one.verdict) == key]


def _has_probed(trial: Trial, way: str, stored: StoredRun) -> bool:
    return any(one.proves(trial, way) for one in read_probes(stored))


def _is_proved(way: Way, stored: StoredRun, run: ActiveRun) -> bool:
    is_probed = _has_probed(way.trial, way.hash, stored)
    return is_probed or any(_has_played(one, way, run) for one in _list_passed(way.trial, stored))


def _has_played(one: StoredAttempt, way: Way, run: ActiveRun) -> bool:
    """Whether an attempt has passed by these steps and no others: a solution may have been edited since."""
    record = one.metadata
    if record.agent_config.get("type") != "scripted" or record.errors:
        return False
    try:
        stored = read_stored(one.local_folder)
    except DatasetError:
        return False
    known = redact_json(fill(list(way.steps), stored.site_urls), run.redact)
    return hash_steps(known) == hash_steps(stored.task.solution)
