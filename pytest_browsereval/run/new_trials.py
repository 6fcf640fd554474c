"""Trials of a new run: an attempt is made of each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from pytest_browsereval.errors import Fault, RunStopped
from pytest_browsereval.model.digest import AttemptDigest
from pytest_browsereval.model.grades import Verdict
from pytest_browsereval.run.active import ActiveRun, Prepared
from pytest_browsereval.run.attempt import attempt, is_retried, record_fault
from pytest_browsereval.run.plan import Entry, Plan
from pytest_browsereval.run.preflight import check_trials, preflight
from pytest_browsereval.run.record import AttemptRecord
from pytest_browsereval.run.selection import note_selected
from pytest_browsereval.run.session import Session, make_services
from pytest_browsereval.run.trial import Trial


class NewTrials:
    """All trials of a config; ``Trials`` says what its methods are for.

    Args:
        run: whose trials they are.
    """

    has_earlier = False
    makes_attempts = True

    def __init__(self, run: ActiveRun) -> None:
        self.run = run
        spec = run.spec
        may_be_filled = spec.behaviour.modify_task is not None
        self.plan = Plan(
            spec.config, spec.registry, limit=spec.limit, beside=spec.beside, may_be_filled=may_be_filled
        )

    @property
    def needs_browser(self) -> bool:
        """True: there is something to run."""
        return True

    def prepare(self) -> Prepared:
        """Check the config."""
        return preflight(self.run)

    def check(self, entries: Iterable[Entry], prepared: Prepared) -> list[str]:
        """Check the rows."""
        check_trials(self.run, entries, prepared.toolsets)
        return []

    def list_due(self, entries: Iterable[Entry]) -> list[Entry]:
        """Return all of them."""
        return list(entries)

    def find_judged(self, entry: Entry) -> AttemptRecord | None:
        """Return the judged attempt that another process of the run has made."""
        found = self.run.store.last_result(entry.key)
        return AttemptRecord(*found) if found and found[0].verdict is not Verdict.ERRORED else None

    def count_selected(self, count: int) -> int | None:
        """Return the count: the run has the trials of this session."""
        return count

    def count_skipped(self, count: int) -> int:
        """Return the count: nobody else has skipped any."""
        return count

    def begin(self, session: Session, manifest: dict[str, Any]) -> None:
        """Write ``selected.jsonl`` and ``manifest.json``."""
        note_selected(self.run.store, (entry.key for entry in session.entries))
        self.run.store.write_manifest(manifest)

    async def make(self, session: Session, entry: Entry, node_id: str) -> AttemptRecord:
        """Make an attempt, and another one while one errs and retries are left."""
        run = self.run
        if why := run.outages.over():  # another process may have met them, which has started
            session.stop(why, has_started=True)
            raise RunStopped(why)
        await run.control.admit(entry.key)
        run.budget.check()  # before a browser is started for nothing
        services = await session.services()
        trial, tries = self._ready(entry), 1
        record = await attempt(trial, services, node_id)
        while await is_retried(record, services, trial, tries):
            record, tries = await attempt(trial, services, node_id), tries + 1
        if record.metadata.stops_run:
            session.stop(record.metadata.reason)
        if entry.trial == run.config.trials:
            self.plan.forget(entry)
        return record

    def record_fault(self, entry: Entry, node_id: str, fault: Fault) -> AttemptRecord:
        """Record an attempt that was not finished."""
        services = make_services(self.run, self.run.toolsets)
        return record_fault(self._ready(entry), services, node_id, fault)

    def describe(self, folder: str) -> str:
        """Return nothing: the run is new."""
        del folder
        return ""

    def list_changes(self, trials: Iterable[AttemptDigest]) -> Iterator[str]:
        """Yield nothing: results stay as they are."""
        del trials
        yield from ()

    def cost_before(self, node_id: str) -> float:
        """Return 0: an attempt has a record of its own."""
        del node_id
        return 0.0

    def _ready(self, entry: Entry) -> Trial:
        trial = self.plan.ready(entry)
        self.run.hide(trial.graders)
        return trial
