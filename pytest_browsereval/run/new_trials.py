"""Trials of a new run: an attempt is made of each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from pytest_browsereval.errors import ErrorSource, Fault, RunStopped
from pytest_browsereval.model.display import join_first
from pytest_browsereval.model.grades import Verdict
from pytest_browsereval.run.active import ActiveRun, Trials
from pytest_browsereval.run.attempt import attempt, record_fault
from pytest_browsereval.run.plan import Entry, Plan, Trial
from pytest_browsereval.run.preflight import check_trials, preflight
from pytest_browsereval.run.selection import note_selected
from pytest_browsereval.run.session import Session
from pytest_browsereval.run.store import AttemptRecord
from pytest_browsereval.runs.attempt import StoredAttempt

UPLOAD = "upload_file"
"""The tool that gives files of a row to a page."""
MOST_LISTED = 5


class NewTrials(Trials):
    """All trials of a config.

    Args:
        run: whose trials they are.
    """

    def __init__(self, run: ActiveRun) -> None:
        self.run = run
        self.plan = Plan(
            run.config, run.registry, limit=run.limit, advisory=run.advisory, modify=run.behaviour.modify_task
        )

    def prepare(self) -> list[str]:
        """Check the config."""
        return preflight(self.run)

    def check(self, entries: Iterable[Entry]) -> list[str]:
        """Check the rows."""
        entries = list(entries)
        check_trials(self.run, entries, self.run.toolsets)
        return list(self._note_files(entries))

    def _note_files(self, entries: Iterable[Entry]) -> Iterator[str]:
        """Yield a sentence for each variant that lacks the tool for files which rows bring."""
        lacking: dict[str, dict[str, None]] = {}
        for entry in entries:
            has_cdp = self.run.config.variants[entry.variant].needs().cdp
            names = {tool.name for tool in self.run.toolsets.by_variant[entry.variant]}
            if self.plan.ready(entry).files and not has_cdp and UPLOAD not in names:
                lacking.setdefault(entry.variant, {})[entry.ref.query_id] = None
        for variant, rows in lacking.items():
            listed = join_first([*rows], MOST_LISTED)
            yield f"the agent {variant!r} has no tool `{UPLOAD}`, and rows bring files: {listed}"

    def find_judged(self, entry: Entry) -> AttemptRecord | None:
        """Return the judged attempt that this process has made, or a dead one, or what deaths have come to.

        A line that its process has not told of is not believed: a program of an attempt may have written it.
        """
        store = self.run.store
        if not (tries := store.list_tries(entry.key)):
            return None
        last = tries[-1]
        has_erred = last.verdict is Verdict.ERRORED
        is_over = self.run.deaths.is_spent(entry.key) if has_erred else self.is_believed(last)
        return store.last_result(entry.key) if is_over else None

    def is_believed(self, data: StoredAttempt) -> bool:
        """Whether a judged attempt need not be made again."""
        return self.run.store.writer.has_written(data.line)

    def begin(self, session: Session, manifest: dict[str, Any]) -> None:
        """Write ``selected.jsonl`` and ``manifest.json``."""
        note_selected(self.run.store, (entry.key for entry in session.entries))
        self.run.store.write_manifest(manifest)

    async def make(self, session: Session, entry: Entry, node_id: str) -> AttemptRecord:
        """Make an attempt, and another one while one errs and retries are left."""
        run = self.run
        if run.deaths.is_spent(entry.key):
            found = run.store.last_result(entry.key)
            fault = Fault(ErrorSource.HARNESS, "a process died during it, and no try is left")
            return found or self.record_fault(entry, node_id, fault)
        if why := run.outages.over():  # another process may have met them, which has started
            session.stop(why, has_started=True)
            raise RunStopped(why)
        await run.control.admit()
        run.store.lost.pop(node_id, None)  # another attempt follows
        run.budget.check()  # before a browser is started for nothing
        await session.open()
        trial, tries = self._ready(entry), 1 + run.deaths.count_tries(entry.key)
        record = await attempt(trial, session, node_id)
        while await is_retried(record, run, tries):
            record, tries = await attempt(trial, session, node_id), tries + 1
        if record.metadata.stops_run:
            session.stop(record.metadata.reason)
        if entry.trial == run.config.most_trials:
            self.plan.forget(entry)
        return record

    def record_fault(self, entry: Entry, node_id: str, fault: Fault) -> AttemptRecord:
        """Record an attempt that was not finished."""
        return record_fault(self._ready(entry), self.run, node_id, fault)

    def _ready(self, entry: Entry) -> Trial:
        trial = self.plan.ready(entry)
        self.run.hide(trial.graders)
        return trial


async def is_retried(record: AttemptRecord, run: ActiveRun, tries: int) -> bool:
    """Whether another attempt follows: only an *errored* one is retried, at most ``retries`` times.

    One whose known way is broken is not: that was tried twice already.

    Args:
        record: of the last attempt; every attempt stays in the run folder.
        run: the budget has to allow another one, and nobody may have called it off.
        tries: how many attempts this session has made of it.
    """
    has_erred = record.metadata.verdict is Verdict.ERRORED and not record.metadata.stops_run
    if not has_erred or record.metadata.probe or tries > run.config.retries:
        return False
    is_stopped = await run.control.is_stopped()
    return not (is_stopped or run.budget.over() or run.outages.over())
