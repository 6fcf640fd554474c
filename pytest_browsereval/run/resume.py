"""Resumes a run: keeps its verdicts, and runs everything else."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from pytest_browsereval.config import EvalConfig
from pytest_browsereval.datasets.plugged import index_rows
from pytest_browsereval.errors import ConfigError, RunStopped
from pytest_browsereval.model.digest import AttemptDigest
from pytest_browsereval.model.display import format_count
from pytest_browsereval.model.grades import Verdict
from pytest_browsereval.model.messages import now
from pytest_browsereval.registry import Registry
from pytest_browsereval.run.evaluation import Evaluation
from pytest_browsereval.run.manifest import manifest
from pytest_browsereval.run.plan import Entry
from pytest_browsereval.run.provenance import differences
from pytest_browsereval.run.record import AttemptRecord
from pytest_browsereval.run.relations import groups
from pytest_browsereval.run.selection import read_selected
from pytest_browsereval.run.store import RunStore, TrialKey

TOLD = 5
"""Ids and differences that a message lists before it counts the rest."""

RESUMES_FILE = "resumes.jsonl"
"""In the run folder: a line for each time that the run was gone on with."""

MACHINE = ("browser", "python", "platform", "packages", "git_commit")
"""Keys of a manifest that say where a run was made: they differ between the machines of one run."""

NO_MATTER = (*MACHINE, "config.trials", "config.retries", "config.capture.fsync")
"""Keys that may differ when a run is gone on with, since no attempt is another one for it."""


class Resuming(Evaluation):
    """An earlier run that is gone on with, in its folder.

    A trial whose last attempt passed or failed, with the row as it is now, has its result; one that errored
    or was cut off is attempted again, and all earlier attempts stay.

    Args:
        config: as it was for the run, but for how fast and how often (``NO_MATTER``).
        registry: where rows look their graders up.
        run: the run's folder.
        anyway: go on although config or rows differ from what they were.
        worker: names this process.
        began: when the session began, in seconds since 1970; now by default.

    Raises:
        ConfigError: a tool switch names no tool, or a toolkit cannot be used.
    """

    def __init__(
        self,
        config: EvalConfig,
        registry: Registry,
        run: Path,
        *,
        anyway: bool,
        worker: str = "main",
        began: float | None = None,
    ) -> None:
        super().__init__(config, registry, run_id=run.name, worker=worker, began=began)
        self.store = RunStore(run, worker=worker)
        self._worker = worker
        self._take_store()
        self._anyway = anyway
        counts = (self.store.count_selected(), self.store.count_planned())
        self._before = max((count for count in counts if count is not None), default=None)
        """How many trials the run was to have so far; None if nobody knows."""
        self._wanted = read_selected(self.store)
        """Which ones, those of this session among them once they are checked; None if nobody knows."""
        self._others = 0
        """Trials that the run has and this session has not selected."""
        self._has_work = False

    # -- before anything is spent

    def preflight(self) -> None:
        """Check the config, and that nobody else is writing the run.

        Raises:
            ConfigError: something of the config cannot be used.
            UsageError: the run is still going on.
        """
        super().preflight()
        if not self.is_planned:
            self._held.enter_context(self.store.going_on())

    def check_rows(self, entries: Iterable[Entry]) -> None:
        """Check all rows that are to run, and that config and rows are those of the run.

        Raises:
            DatasetError: rows are wrong.
            ConfigError: config or rows have drifted; or a grader's program is missing.
            UsageError: a file of the run is damaged.
        """
        entries = list(entries)
        super().check_rows(entries)
        stored = {_key(data): data for _, data in self.store.last_digests()}
        selected = {entry.key for entry in entries}
        self._others = len(stored.keys() - selected)
        if self._wanted is not None:
            self._wanted |= selected if self._wanted else selected | stored.keys()
        drift = [*self._config_drift(), *self._row_drift(entries, stored)]
        if drift and not self._anyway:
            raise ConfigError(_refusal(self.store.root, drift))
        finished = len(entries) - len(self.to_run(entries))
        self._has_work = finished < len(entries)
        self._note(entries, stored, finished, drift)
        if not self.is_planned:
            paid = (
                (folder, 0.0 if data.replayed else data.cost_usd) for folder, data in self.store.digests()
            )
            self.budget.note_earlier_payments(paid)
            self._record(len(entries), finished, drift)

    def to_run(self, entries: Iterable[Entry]) -> list[Entry]:
        """Return the trials that are run: those without a result, and those that rest on one of them."""
        entries = list(entries)
        are_there = [self.find_judged(entry) is not None for entry in entries]
        if not self.plan.may_relate(len(entries)):
            return [entry for entry, is_there in zip(entries, are_there, strict=True) if not is_there]
        found = groups([self.plan.relations(entry) for entry in entries])
        places = {place for group in found if not all(are_there[one] for one in group) for place in group}
        return [entries[place] for place in sorted(places)]

    def _config_drift(self) -> Iterator[str]:
        before = self.store.manifest()
        if not before and not any((self.store.root / name).exists() for name in ("manifest.json", "tasks")):
            return  # stopped before anything was made
        if not before:
            yield "its manifest.json is missing or damaged, so what the run was made of is unknown"
            return
        yield from differences(before, self._made_of(), besides=NO_MATTER)

    def _row_drift(self, entries: list[Entry], stored: dict[TrialKey, AttemptDigest]) -> Iterator[str]:
        edited = [
            entry.ref.query_id
            for entry in entries
            if (data := stored.get(entry.key)) is not None
            and data.verdict is not Verdict.ERRORED
            and data.row_hash != self._row_hash(entry)
        ]
        if edited:
            yield f"rows were edited: {_listed(edited)}"
        base_dir = self.config.base_dir
        known = {ref.query_id for one in self.config.dataset for ref in index_rows(one, base_dir)}
        if gone := [key.query_id for key in stored if key.query_id not in known]:
            yield f"rows are gone: {_listed(gone)}"

    def _note(
        self,
        entries: list[Entry],
        stored: dict[TrialKey, AttemptDigest],
        finished: int,
        drift: list[str],
    ) -> None:
        """Tell what there is to do."""
        errored = sum(
            entry.key in stored and stored[entry.key].verdict is Verdict.ERRORED for entry in entries
        )
        cut = len(self.store.list_cut_off())
        of_these = [f"{errored} errored"] * bool(errored) + [f"{cut} cut off"] * bool(cut)
        message = f" ({', '.join(of_these)} before)" if of_these else ""
        self.notes.append(
            f"going on with run {self.store.root.name}: {finished} of "
            f"{format_count(len(entries), 'trial')} have their result, "
            f"{len(entries) - finished} to run{message}"
        )
        for line in drift:
            self.notes.append(f"gone on with anyway: {line}")
        if cut and self.config.budget.max_cost_usd is not None:
            self.notes.append("what the attempts cost that were cut off is not known to the budget")
        for line in _machine(self.store.manifest(), self._made_of()):
            self.notes.append(f"the run was begun with something else: {line}")

    def _record(self, trials: int, finished: int, drift: list[str]) -> None:
        """Write down that the run was gone on with, and forget what was in flight when it was ended."""
        self.store.take_all_flights()
        here = self._made_of()
        record: dict[str, Any] = {
            "resumed_at": now(),
            "trials": trials,
            "finished": finished,
            "differences": drift,
            **{key: here[key] for key in MACHINE if key != "browser"},
        }
        self.store.append(RESUMES_FILE, record)

    def _note_start(self, manifest: dict[str, Any]) -> None:
        """Write down which browser the further attempts of this process are made with.

        Raises:
            RunStopped: the session goes on with another run than this process has found.
        """
        if not self.store.is_gone_on_with():
            self.stopped = f"the session does not go on with {self.store.root}, which this process has found"
            raise RunStopped(self.stopped)
        super()._note_start(manifest)
        self.store.drop_summary()
        self.store.append(
            RESUMES_FILE, {"started_at": now(), "worker": self._worker, "browser": manifest["browser"]}
        )

    def _made_of(self) -> dict[str, Any]:
        return manifest(
            self.config,
            "",
            self.tools,
            self.kits,
            self._registry.owners(),
            model_calls=self.model_calls.value,
        )

    # -- what there is already

    def find_judged(self, entry: Entry) -> AttemptRecord | None:
        """Return the judged attempt of a trial whose row is what it was; None if it has to be run."""
        found = super().find_judged(entry)
        return found if found and found.metadata.row_hash == self._row_hash(entry) else None

    def _row_hash(self, entry: Entry) -> str:
        return self.plan.ready(entry).task.content_hash()

    @property
    def goes_on(self) -> bool:
        """True: its trials may have results already."""
        return True

    def count_selected(self, count: int) -> int | None:
        """Return how many trials the run is to have: those of this session, and those it has besides."""
        if self._before is None:
            return None if self._wanted is None else len(self._wanted)
        wanted = count + self._others if self._wanted is None else len(self._wanted)
        return max(wanted, self._before)

    # -- on the loop

    async def start(self) -> None:
        """Start a browser if there is something to run.

        Raises:
            RunStopped: the browser cannot be started.
            OSError: the run folder cannot be written.
        """
        if self._has_work:
            await super().start()
        else:
            self.has_started = True


def _key(data: AttemptDigest) -> TrialKey:
    return TrialKey(data.query_id, data.variant, data.trial)


def _listed(ids: Iterable[str]) -> str:
    names = list(dict.fromkeys(ids))
    more = f" and {len(names) - TOLD} more" if len(names) > TOLD else ""
    return ", ".join(names[:TOLD]) + more


def _machine(before: dict[str, Any], here: dict[str, Any]) -> Iterator[str]:
    keys = [key for key in MACHINE if key != "browser"]  # which is not up yet
    if before:
        yield from differences({key: before.get(key) for key in keys}, {key: here[key] for key in keys})


def _refusal(folder: Path, drift: list[str]) -> str:
    shown = "".join(f"\n  {line}" for line in drift[: 4 * TOLD])
    more = f"\n  and {len(drift) - 4 * TOLD} more" if len(drift) > 4 * TOLD else ""
    return (
        f"the run {folder.name} cannot be gone on with, since it was made of something else:{shown}{more}\n"
        "Restore what it was, run without --eval-resume for a new run, or add --eval-resume-anyway: then "
        "what is judged stays, and rows that were edited are run again."
    )
