"""Grades stored attempts again: no browser, no agent, no site, and no grade lost on the way."""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from pytest_browsereval.capture.output import REGRADING_OUTPUT_FILE, keep_output
from pytest_browsereval.capture.trajectory import TrajectorySaver
from pytest_browsereval.config.model import BudgetConfig
from pytest_browsereval.errors import ErrorSource, Fault, RunStopped, TerminationReason, UsageError
from pytest_browsereval.features.regrade.current_rows import CurrentPlan
from pytest_browsereval.features.regrade.redacted import settle_redacted
from pytest_browsereval.features.regrade.stored_plan import StoredEntry, StoredPlan, read_evidence
from pytest_browsereval.features.regrade.unobserved import OBSERVED_ELSE, why_unobserved
from pytest_browsereval.graders.base import Recorded
from pytest_browsereval.model.display import format_count, join_first
from pytest_browsereval.model.grades import GraderResult, Verdict
from pytest_browsereval.model.messages import now
from pytest_browsereval.model.results import TaskMetadata
from pytest_browsereval.model.usage import Usage
from pytest_browsereval.run.active import ActiveRun, Trials
from pytest_browsereval.run.grading import Grading, decide, grade_all, total_cost
from pytest_browsereval.run.manifest import check_manifest
from pytest_browsereval.run.plan import Entry, Trial
from pytest_browsereval.run.preflight import check_trials, preflight_member
from pytest_browsereval.run.selection import note_regraded
from pytest_browsereval.run.session import Session
from pytest_browsereval.run.store import AttemptRecord
from pytest_browsereval.runs.attempt import StoredAttempt
from pytest_browsereval.runs.folder import StoredTask, read_stored

NAMED = 5
"""Ids that a note lists."""

MOST_CHANGES = 10
"""Changed verdicts that are listed by name."""

STORED_ROWS = (
    "tasks as they were then, which the run has stored (--eval-regrade-rows=current takes the rows of today)."
)


class RegradedTrials(Trials):
    """Trials of an earlier run whose stored attempts are graded again.

    Args:
        run: its graders, judge and rules count; its agent, browser and sites are not used.
        is_current: whether attempts are judged by the rows as they are now, not as the run has stored them.
    """

    plan: StoredPlan
    makes_attempts = False

    def __init__(self, run: ActiveRun, *, is_current: bool = False) -> None:
        self.run = run
        self.is_current = is_current
        self.plan = (CurrentPlan if is_current else StoredPlan)(run)
        self._is_noted = False
        self._before = run.store.run.count_selected()
        self._skipped_before = run.store.run.count_skipped()

    # -- before anything is spent

    def prepare(self) -> list[str]:
        """Check the config's graders, and tell which rows were edited since the run.

        Raises:
            ConfigError: a grader lacks something.
            UsageError: a file of the run is damaged, or a process still writes it.
        """
        run = self.run
        check_manifest(run.store.root)
        for number, grader in enumerate(run.config.graders):
            preflight_member(run.config, grader, "graders", number)
        run.held.enter_context(run.store.locks.hold_for_resume())
        return list(self._list_notes())

    def _list_notes(self) -> Iterator[str]:
        plan = self.plan
        if self.run.config.budget != BudgetConfig():
            yield "the budget does not limit what judges cost in a regrade"
        if edited := plan.list_edited_rows():
            by = "rows as they are now." if self.is_current else STORED_ROWS
            yield (
                f"{len(edited)} of the rows were edited since the run ({join_first(edited, NAMED)}): "
                f"their attempts are judged by the {by}"
            )
        if names := plan.list_other_derived():
            yield (
                f"attacks differ between the run and the config ({join_first(names, NAMED)}): attempts are "
                "judged by the config's goals, where the run observed what these need; attacks that the "
                "config lacks, by their stored goals; new attacks have no attempt"
            )
        if self.is_current and (rows := plan.list_new_rows()):
            count = format_count(len(rows), "row of the dataset has", "rows of the dataset have")
            yield (
                f"{count} no attempt in the run ({join_first(rows, NAMED)}) and no grade: "
                "`pytest` without --eval-regrade runs all rows"
            )
        if not self.is_current and (absent := plan.count_gone()):
            why = plan.rows_problem or f"the config's datasets have no row for {absent} of the run's trials"
            yield f"these trials are judged by the tasks that the run has stored: {why}"

    def check(self, entries: Iterable[Entry]) -> list[str]:
        """Read and check what is stored of every trial that can be graded again.

        Raises:
            DatasetError: something stored is damaged, or a grader cannot judge it.
            ConfigError: a grader's program is missing.
        """
        check_trials(self.run, _list_gradable(entries), None)
        return []

    def count_selected(self, count: int) -> int | None:
        """Return how many trials the run was to have, whichever of them are graded again."""
        return None if self._before is None else max(count, self._before)

    def find_judged(self, entry: Entry) -> None:
        """Return nothing: each trial has a result, which is to be graded again."""

    def count_skipped(self, count: int) -> int:
        """Return how many trials the run had skipped; one that is skipped now keeps its result."""
        return self._skipped_before

    def begin(self, session: Session, manifest: dict[str, Any]) -> None:
        """Write nothing: the run has its manifest."""

    def cost_before(self, node_id: str) -> float:
        """Return what a trial had cost before it was graded again, as far as that is known.

        Args:
            node_id: of its item.
        """
        return self.plan.find(node_id.partition("::")[2]).metadata.cost_usd or 0.0

    def describe(self, folder: str) -> str:
        """Say which run is graded again, and by which rows."""
        return f"regrading {folder}" + (" with the current rows" if self.is_current else "")

    def list_changes(self, trials: Iterable[StoredAttempt]) -> Iterator[str]:
        """Yield how many verdicts have changed from what to what, then the first ten of them."""
        before = {entry.key: entry for entry in self.plan.stored}
        graded = [
            (entry, data.verdict)
            for data in trials
            if (entry := before.get(data.key)) and data.regraded_at != entry.metadata.regraded_at
        ]
        moved = [
            (entry.name, f"{old} -> {new}")
            for entry, new in graded
            if (old := entry.metadata.verdict) is not new
        ]
        parts = [f"{count} {move}" for move, count in sorted(Counter(move for _, move in moved).items())]
        if len(moved) < len(graded) or not graded:
            parts.append(f"{len(graded) - len(moved)} unchanged")
        yield f"regraded {format_count(len(graded), 'attempt')}: {', '.join(parts)}"
        yield from (f"  {name}: {move}" for name, move in moved[:MOST_CHANGES])

    # -- on the loop

    async def make(self, session: Session, entry: Entry, node_id: str) -> AttemptRecord:
        """Grade a stored trial again.

        Raises:
            RunStopped: an earlier trial has shown that no judge can be asked.
            CalledOff: nobody wants it any more; the trial keeps its grades.
            UsageError: a file of the attempt was damaged meanwhile.
            OSError: the attempt's folder cannot be written.
        """
        assert isinstance(entry, StoredEntry)  # noqa: S101 of our own plan
        await self.run.control.admit()
        if session.stopped is not None:
            raise RunStopped(session.stopped)
        if not self._is_noted:
            # Not before the first trial: a session that is refused has changed nothing.
            due = [one.key for one in _list_gradable(session.entries)]
            await asyncio.to_thread(note_regraded, self.run.store, due, self.run.began)
            self._is_noted = True
        attempt = self.run.store.reopen(entry.folder, entry.metadata.attempt, node_id)
        try:
            metadata = await self._again(entry)
        finally:
            attempt.finish()
        self.plan.forget(entry)
        if metadata.stops_run:
            session.stop(metadata.reason)
        return AttemptRecord(metadata, attempt.path)

    def record_fault(self, entry: Entry, node_id: str, fault: Fault) -> AttemptRecord:
        """Record that a trial could not be graded again; the grades that it had are in its history.

        Raises:
            OSError: the attempt's folder cannot be written.
        """
        assert isinstance(entry, StoredEntry)  # noqa: S101 of our own plan
        attempt = self.run.store.reopen(entry.folder, entry.metadata.attempt, node_id)
        attempt.finish()
        if entry.why_not is not None:
            old = self.run.store.read_record(entry.folder)
            return AttemptRecord(_keep_errored(old, entry.why_not), entry.folder)
        errored = {
            one.label: GraderResult(grader=one.label, verdict=Verdict.ERRORED, reasoning=str(fault))
            for one in self.plan.ready(entry).graders
        }
        return AttemptRecord(self._save(entry.folder, Grading(errored)), entry.folder)

    async def _again(self, entry: StoredEntry) -> TaskMetadata:
        old = await asyncio.to_thread(self.run.store.read_record, entry.folder)
        if entry.why_not is not None:
            return _keep_errored(old, entry.why_not)
        ready = self.plan.ready(entry)
        self.run.hide(ready.graders)
        stored, evidence = await asyncio.to_thread(
            lambda: (read_stored(entry.folder), read_evidence(entry.folder))
        )
        recorded = Recorded(
            task=ready.task,
            final_answer=old.final_answer,
            termination_reason=old.termination_reason,
            final_url=old.final_url,
            folder=entry.folder,
            evidence=evidence,
            site_urls=stored.site_urls,
            sites=self.run.config.sites,
            base_dir=self.run.config.base_dir,
            judge=self.run.config.judge,
            started_at=old.started_at,
            agent_duration_ms=old.agent_duration_ms,
            usage=old.usage,
            redact=self.run.redact,
        )
        unobserved = {
            grader.label: why
            for grader in ready.graders
            if (why := why_unobserved(grader, ready.task, stored, evidence, redact=self.run.redact))
        }
        grading = Grading()
        (entry.folder / REGRADING_OUTPUT_FILE).unlink(missing_ok=True)
        try:
            with keep_output(entry.folder / REGRADING_OUTPUT_FILE, self.run.redact):
                await grade_all(
                    ready.graders,
                    recorded,
                    unobserved=unobserved,
                    stand_in=self.run.behaviour.grade,
                    so_far=grading,
                )
        except asyncio.CancelledError:  # the old grades stay, and what the new ones have cost is known
            with contextlib.suppress(OSError, UsageError):
                self._record_payment(entry.folder, grading)
            raise
        compared = [old.final_answer, ready.task.answer, *ready.task.checks]
        before = old.grader_results if ready.row_hash == old.row_hash else {}
        for grader in ready.graders:
            label = grader.label
            grading.grades[label] = settle_redacted(
                grader, grading.grades[label], before.get(label), [*compared, evidence.get(label)]
            )
        grading.is_unanswered = self.run.outages.count_grades(entry.key, grading.grades.values())
        if grading.stops_run:  # a judge that cannot be asked has judged nothing: what there was stays
            why = grading.why_it_stops()
            old = await asyncio.to_thread(self._record_payment, entry.folder, grading)
            return _keep_errored(old, self.run.redact(why)).model_copy(update={"stops_run": True})
        return await asyncio.to_thread(self._save, entry.folder, grading, ready, stored, unobserved)

    # -- the record

    def _save(
        self,
        folder: Path,
        grading: Grading,
        ready: Trial | None = None,
        stored: StoredTask | None = None,
        unobserved: Mapping[str, str] | None = None,
    ) -> TaskMetadata:
        """Write the new grades, the line last: the old ones stay in the line before.

        What there was is read now: a worker that has died, or an earlier try, may have replaced those that
        were there when this process first looked.

        Args:
            folder: the attempt's.
            grading: the new one.
            ready: what it judged by, which takes the place of the stored row where it is another.
            stored: the stored row; what was observed stays what it was.
            unobserved: which graders lack what they would have observed, and why.
        """
        store, saver = self.run.store, TrajectorySaver(folder, redact=self.run.redact)
        old = store.read_record(folder)
        row_hash = old.row_hash if ready is None else ready.row_hash
        if ready is not None and stored is not None and row_hash != old.row_hash:
            missing = {label: why for label, why in (unobserved or {}).items() if why != OBSERVED_ELSE}
            saver.save_task(
                ready.task,
                ready.graders,
                stored.site_urls,
                {**stored.unobserved, **missing},
                row_hash=row_hash,
                observed=stored.observed,
            )
        saver.save_grades(grading.grades)
        probe = old.probe if _is_probe_of(old, grading, row_hash) else None
        verdict, source, reason = decide(grading, self.run.config.pass_when, old, probe)
        is_broken = old.termination_reason is TerminationReason.ERROR and old.errors
        if is_broken and not grading.is_vetoed(ready.graders if ready else ()):
            verdict, source, reason = Verdict.ERRORED, old.errors[-1].source, old.errors[-1].message
        update = {
            "grader_results": grading.grades,
            "grading_duration_ms": round(grading.duration_ms, 3),
            "verdict": verdict,
            "error_source": source,
            "reason": self.run.redact(reason),
            "stops_run": False,
            "cost_usd": _with(old.cost_usd, grading),
            "regraded_at": now(),
            "row_hash": row_hash,
        }
        return store.save_record(old.model_copy(update=update), self.run.redact)

    def _record_payment(self, folder: Path, grading: Grading) -> TaskMetadata:
        """Write what was paid before the grading was given up, and nothing else; return the attempt."""
        old = self.run.store.read_record(folder)
        cost = _with(old.cost_usd, grading)
        if cost == old.cost_usd:
            return old
        return self.run.store.save_record(old.model_copy(update={"cost_usd": cost}), self.run.redact)


def _list_gradable(entries: Iterable[Entry]) -> list[Entry]:
    return [entry for entry in entries if isinstance(entry, StoredEntry) and entry.why_not is None]


def _is_probe_of(old: TaskMetadata, grading: Grading, row_hash: str) -> bool:
    """Whether a known way broke on its way; what its end came to says nothing of grades by other rules."""
    if old.probe is None or old.probe.step is not None:
        return True
    rules = (
        {name: one.fingerprint for name, one in of.items()} for of in (old.grader_results, grading.grades)
    )
    return row_hash == old.row_hash and next(rules) == next(rules)


def _with(cost_usd: float | None, grading: Grading) -> float | None:
    """Return a cost with that of grades; None if either is not known."""
    paid = total_cost(Usage(), grading.grades.values())
    return None if cost_usd is None or paid is None else cost_usd + paid


def _keep_errored(old: TaskMetadata, why: str) -> TaskMetadata:
    """Return an attempt as its item shows it: errored, since it was not graded again; its files stay."""
    return old.model_copy(
        update={
            "verdict": Verdict.ERRORED,
            "error_source": old.error_source or ErrorSource.GRADER,
            "reason": f"not regraded, {old.verdict} as it was: {why}"
            + (f" ({old.reason})" if old.reason else ""),
            "stops_run": False,
        }
    )
