"""Resumes a run: keeps its verdicts, and runs everything else."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from pytest_browsereval.datasets.reader import index_rows
from pytest_browsereval.errors import ConfigError, RunStopped, UsageError
from pytest_browsereval.features.shared.provenance import differences
from pytest_browsereval.model.display import format_count, join_first
from pytest_browsereval.model.grades import Verdict
from pytest_browsereval.model.messages import now
from pytest_browsereval.model.trials import TrialKey
from pytest_browsereval.run.active import ActiveRun
from pytest_browsereval.run.manifest import MACHINE, RESUMES_FILE
from pytest_browsereval.run.new_trials import NewTrials
from pytest_browsereval.run.plan import Entry
from pytest_browsereval.run.relations import groups
from pytest_browsereval.run.selection import read_selected
from pytest_browsereval.run.session import Session, describe
from pytest_browsereval.run.shards import Parts, Shard, read_shard
from pytest_browsereval.run.store import AttemptRecord
from pytest_browsereval.runs.attempt import StoredAttempt
from pytest_browsereval.runs.run import StoredRun

MOST_LISTED = 5
"""Ids and differences that a message lists before it counts the rest."""

NO_MATTER = (*MACHINE, "config.trials", "config.retries")
"""Keys that may differ when a run is resumed: no attempt is another one for it."""


class ResumedTrials(NewTrials):
    """Trials of an earlier run that is resumed in its folder.

    A trial whose last attempt passed or failed, with the row as it is now, has its result; one that errored
    or was cut off is attempted again, and all earlier attempts stay.

    Args:
        run: its config is as it was for the run, but for how fast and how often (``NO_MATTER``).
        anyway: resume although config or rows differ from what they were.
        shard: the value of ``--eval-shard``.

    Raises:
        UsageError: the run is another part of the whole.
    """

    has_earlier = True

    def __init__(self, run: ActiveRun, *, anyway: bool, shard: str | None) -> None:
        _check_part(run.store.root.name, run.store.run.read_manifest(), shard)
        super().__init__(run)
        self._anyway = anyway
        counts = (run.store.run.count_selected(), run.store.run.count_planned())
        self._before = max((count for count in counts if count is not None), default=None)
        """How many trials the run was to have so far; None if nobody knows."""
        self._wanted = read_selected(run.store.run)
        """Which ones, those of this session among them once they are checked; None if nobody knows."""
        self._others = 0
        """Trials that the run has and this session has not selected."""
        self._has_work = False
        self._earlier = {one.line for one in StoredRun(run.store.root).attempts}
        """The lines of earlier sessions."""

    @property
    def needs_browser(self) -> bool:
        """Whether there is something to run."""
        return self._has_work

    def describe(self, folder: str) -> str:
        """Say which run is resumed."""
        return f"resuming {folder}"

    # -- before anything is spent

    def prepare(self) -> list[str]:
        """Check the config, and that nobody else writes the run.

        Raises:
            ConfigError: something of the config cannot be used.
            UsageError: the run is still going on.
        """
        notes = super().prepare()
        if not self.run.is_planned:
            self.run.held.enter_context(self.run.store.locks.hold_for_resume())
        return notes

    def check(self, entries: Iterable[Entry]) -> list[str]:
        """Check all rows that are to run, and that config and rows are those of the run.

        Raises:
            DatasetError: rows are wrong.
            ConfigError: config or rows have drifted; or a grader's program is missing.
            UsageError: a file of the run is damaged.
        """
        every, store = list(entries), self.run.store
        super().check(every)
        entries = list(filter(self.run.choice.is_wanted, every))
        earlier = StoredRun(store.root)
        stored = {trial.last.key: trial.last for trial in earlier.trials}
        selected = {entry.key for entry in entries}
        self._others = len(stored.keys() - selected)
        if self._wanted is not None:
            self._wanted |= selected if self._wanted else selected | stored.keys()
        here = describe(self.run, "")
        drift = [*self._config_drift(here), *self._row_drift(entries, stored)]
        if drift and not self._anyway:
            shown = join_first(drift, 4 * MOST_LISTED, "\n  ")
            raise ConfigError(
                f"the run {store.root.name} cannot be resumed, because what it was made of has changed:\n"
                f"  {shown}\nUndo the changes, start a new run (without --eval-resume; at a URL under "
                "another --eval-run-name), or add --eval-resume-anyway, which keeps verdicts and runs edited "
                "rows again."
            )
        flights = store.in_flight() if self.run.is_planned else store.take_flight("*")
        cut_off = [flight for flight in flights if not flight.is_recorded]
        due, errored = len(self.list_due(entries)), 0
        for entry in entries:
            errored += entry.key in stored and stored[entry.key].verdict is Verdict.ERRORED
        finished, self._has_work = len(entries) - due, due > 0
        if not self.run.is_planned:
            self.run.deaths.note_cut_off(cut_off)
            paid = (
                (store.root / one.place, 0.0 if one.replayed else one.cost_usd) for one in earlier.attempts
            )
            self.run.budget.note_earlier_payments(paid)
            line = {"resumed_at": now(), "trials": len(entries), "finished": finished, "differences": drift}
            store.append(RESUMES_FILE, line | {key: here[key] for key in MACHINE if key != "browser"})
        told = {"errored": errored, "cut off": len(cut_off)}
        before = ", ".join(f"{count} {kind}" for kind, count in told.items() if count)
        have = f"{finished} of {format_count(len(entries), 'trial')} have a result, {due} to run"
        notes = [f"resuming run {store.root.name}: {have}{f' ({before} before)' if before else ''}"]
        notes += (f"resumed anyway: {line}" for line in drift)
        if cut_off and self.run.config.budget.max_cost_usd is not None:
            notes.append("the budget does not include the cost of attempts that were cut off")
        return notes

    def list_due(self, entries: Iterable[Entry]) -> list[Entry]:
        """Return the trials that are run: those without a result, and those that rest on one of them."""
        entries = list(entries)
        are_there = [self.find_judged(entry) is not None for entry in entries]
        if not self.plan.relates:
            return [entry for entry, is_there in zip(entries, are_there, strict=True) if not is_there]
        found = groups([self.plan.relations(entry) for entry in entries])
        places = {place for group in found if not all(are_there[one] for one in group) for place in group}
        return [entries[place] for place in sorted(places)]

    def _config_drift(self, here: dict[str, Any]) -> Iterator[str]:
        store = self.run.store
        before = store.run.read_manifest()
        if before:
            yield from differences(before, here, besides=NO_MATTER).values()
        elif any((store.root / name).exists() for name in ("manifest.json", "tasks")):  # else it made nothing
            yield "its manifest.json is missing or damaged, so what the run was made of is unknown"

    def _row_drift(self, entries: list[Entry], stored: dict[TrialKey, StoredAttempt]) -> Iterator[str]:
        edited = [
            entry.ref.query_id
            for entry in entries
            if (data := stored.get(entry.key)) is not None
            and data.verdict is not Verdict.ERRORED
            and data.row_hash != self._row_hash(entry)
        ]
        if edited:
            yield f"rows were edited: {_join_ids(edited)}"
        config = self.run.config
        known = {ref.query_id for one in config.datasets for ref in index_rows(one, config.base_dir)}
        if gone := [key.query_id for key in stored if key.query_id not in known]:
            yield f"rows are gone: {_join_ids(gone)}"

    def begin(self, session: Session, manifest: dict[str, Any]) -> None:
        """Write down which browser the further attempts of this process are made with.

        Raises:
            RunStopped: the session resumes another run than this process has found.
        """
        store = self.run.store
        if not store.locks.is_held_for_resume():
            session.stop(why := f"this process found the run {store.root}, which the session does not resume")
            raise RunStopped(why)
        super().begin(session, manifest)
        store.drop_summary()
        line = {"started_at": now(), "worker": store.worker, "browser": manifest["browser"]}
        store.append(RESUMES_FILE, line)

    # -- what there is already

    def find_judged(self, entry: Entry) -> AttemptRecord | None:
        """Return the judged attempt of a trial whose row is what it was; None if it has to be run."""
        found = super().find_judged(entry)
        return found if found and found.metadata.row_hash == self._row_hash(entry) else None

    def is_believed(self, data: StoredAttempt) -> bool:
        """Whether an attempt is of an earlier session, or of this process."""
        return data.line in self._earlier or super().is_believed(data)

    def _row_hash(self, entry: Entry) -> str:
        return self.plan.ready(entry).task.content_hash()

    def count_selected(self, count: int) -> int | None:
        """Return how many trials the run is to have: those of this session, and those it has besides."""
        if self._before is None:
            return None if self._wanted is None else len(self._wanted)
        wanted = count + self._others if self._wanted is None else len(self._wanted)
        return max(wanted, self._before)


def _join_ids(ids: Iterable[str]) -> str:
    return join_first(list(dict.fromkeys(ids)), MOST_LISTED)


def _check_part(run: str, manifest: Mapping[str, Any], given: str | None) -> None:
    """Refuse to go on with one part of a run as another one, or as the whole: it would say what it is not.

    A merged run may be resumed as a whole or by what it lacks.
    """
    parts = Parts.of_run(manifest)
    if parts is None or "merged_from" in manifest or len(parts.have) != 1:
        return
    own = Shard(parts.have[0], parts.of)
    if given is None or read_shard(given) != own:
        raise UsageError(
            f"the run {run} is part {own}, and this session is not. Resume it with --eval-shard={own}, or "
            "name another run: --eval-resume=RUN."
        )
