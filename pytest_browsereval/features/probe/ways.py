"""The known way of a row: its steps, what has to be played before them, and what proves them."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import islice, pairwise
from pathlib import Path

from pydantic import JsonValue

from pytest_browsereval.agents.scripted import find_variable
from pytest_browsereval.datasets.ids import safe_id
from pytest_browsereval.errors import BrowserEvalError, DatasetError, UsageError
from pytest_browsereval.features.probe.journal import has_probed
from pytest_browsereval.features.shared.ways import LOOKS, Call, Refused, read_way
from pytest_browsereval.model.grades import Verdict
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
_POINTS = {"x", "y", "start_x", "path", "position"}


class NotTriedError(BrowserEvalError):
    """The known way of a row cannot be played."""


@dataclass(frozen=True)
class Way:
    """Steps that solve a row."""

    trial: Trial
    steps: tuple[Call, ...]
    """None of a row that has no known way."""
    is_proved: bool = False
    """Whether they have passed with the row as it is."""
    pause_s: float = 0.0
    """The longest time between two actions of the agent that passed: what the page had to get ready."""

    @cached_property
    def hash(self) -> str:
        """Tells it from other ways."""
        return hash_steps(self.steps)


def hash_steps(steps: Sequence[Mapping[str, JsonValue]]) -> str:
    """Return 16 hex digits over steps."""
    return hashlib.sha256(json.dumps(list(steps), sort_keys=True).encode()).hexdigest()[:16]


def find_ways(trial: Trial, run: ActiveRun, root: Path) -> list[Way]:
    """Return the known way of a row, after those of rows that leave something behind for it.

    Args:
        trial: at the row.
        run: its files are read for proofs, and those of earlier runs of its config.
        root: the folder of the run that records the attempt.

    Raises:
        NotTriedError: a row that it depends on is not there.
    """
    runs = [StoredRun(root), *_list_earlier(root, run.baseline)]
    return [_find_way(one, run, runs) for one in (*_list_before(trial, run), trial)]


@lru_cache(maxsize=4)
def _list_earlier(root: Path, baseline: Path | None) -> list[StoredRun]:
    """Return the run that a run is compared with, and the latest before it."""
    named = [baseline] if baseline is not None and baseline.is_dir() else []
    return [StoredRun(one) for one in (*named, *islice(earlier(root), MOST_RUNS))]


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
    passes = (one for stored in runs for one in _list_passed(trial, stored))
    for attempt in () if trial.task.protected else islice(passes, MOST_PASSES):
        way = _read_passed(attempt, trial, run, runs)
        if way is not None and (way.is_proved or not own.steps):
            return way
    return own


def _list_passed(trial: Trial, stored: StoredRun) -> list[StoredAttempt]:
    key = trial.key.query_id, trial.content_hash, Verdict.PASSED
    lines = stored.update_lines().list_all()
    return [one for one in lines if (one.query_id, one.row_hash, one.verdict) == key]


def _is_proved(way: Way, stored: StoredRun, run: ActiveRun) -> bool:
    passes = _list_passed(way.trial, stored)
    return has_probed(stored, way.trial, way.hash) or any(_has_played(one, way, run) for one in passes)


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


# -- the steps of a pass


def _read_passed(
    attempt: StoredAttempt, trial: Trial, run: ActiveRun, runs: Sequence[StoredRun]
) -> Way | None:
    """Return the steps of an attempt that has passed; None if they cannot be played."""
    try:
        passed = read_way(attempt, run.config).clean
    except (Refused, UsageError):
        return None
    if not passed.calls:
        return None
    acts = [one for one in attempt.steps if one.call.tool not in LOOKS and one.ended_at and one.started_at]
    gaps = [
        (after.started_at - before.ended_at).total_seconds()
        for before, after in pairwise([*acts, *attempt.steps[-1:]])
        if before.ended_at and after.started_at
    ]
    way = Way(trial, passed.solve(), pause_s=max([0.0, *gaps]))
    is_sure = all(_is_sure(call, trial.task.query) for call in passed.calls)
    return replace(way, is_proved=is_sure or any(has_probed(one, trial, way.hash) for one in runs))


def _is_sure(call: Call, query: str) -> bool:
    """Whether a call means the same on another day, as the words and numbers of the query do.

    A number may be of an order, or of one of several elements; a text may be one that the page had shown,
    such as a code.
    """
    types = "target" in call and "text" in call and find_variable(call) is None
    if not _POINTS.isdisjoint(call) or (types and str(call["text"]).casefold() not in query.casefold()):
        return False
    given = " ".join(str(call[key]) for key in ("target", "source") if key in call)
    others = " ".join(str(call[key]) for key in ("url", "value", "values") if key in call)
    return not re.search(r"\d", given) and {*re.findall(r"\d+", others)} <= {*re.findall(r"\d+", query)}
