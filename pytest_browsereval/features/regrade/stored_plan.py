"""Stored trials of an earlier run, read so that each can be graded again."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from pydantic import JsonValue

from pytest_browsereval.capture.trajectory import EVIDENCE_FILE
from pytest_browsereval.datasets.base import DatasetConfig, RowRef
from pytest_browsereval.datasets.ids import safe_id
from pytest_browsereval.datasets.reader import index_rows, read_row
from pytest_browsereval.datasets.rows import refuse
from pytest_browsereval.errors import DatasetError, ErrorSource, Fault, TerminationReason, UsageError
from pytest_browsereval.graders.base import GraderConfig
from pytest_browsereval.graders.nested import fill_sites
from pytest_browsereval.graders.protection import hide_quotes
from pytest_browsereval.graders.trust import check_trust
from pytest_browsereval.graders.verdicts import check_pass_when
from pytest_browsereval.model.tasks import TASK_FILE, Task
from pytest_browsereval.model.trials import TrialKey
from pytest_browsereval.needs import Offers
from pytest_browsereval.redaction.marks import MARK
from pytest_browsereval.redaction.text import redact_json
from pytest_browsereval.run.active import ActiveRun
from pytest_browsereval.run.plan import Entry, Plan, Trial, mark_names
from pytest_browsereval.run.row_checks import add_advisory, check_needs, read_graders
from pytest_browsereval.run.toolsets import Toolsets
from pytest_browsereval.run_files import load_written
from pytest_browsereval.runs.attempt import StoredAttempt
from pytest_browsereval.runs.folder import StoredTask, check_log, read_stored
from pytest_browsereval.runs.run import StoredRun
from pytest_browsereval.sites import fill


def read_evidence(folder: Path) -> dict[str, JsonValue]:
    """Return what graders observed on the final page of an attempt; empty if none did.

    Raises:
        DatasetError: the file is damaged.
    """
    file = folder / EVIDENCE_FILE
    if not file.exists():
        return {}
    try:
        return dict(load_written(file))
    except (OSError, TypeError, ValueError) as error:
        raise DatasetError(f"{file} is damaged: {error}. Restore it.") from None


@dataclass(frozen=True, slots=True)
class StoredEntry(Entry):
    """A trial of an earlier run, by its last attempt."""

    folder: Path
    metadata: StoredAttempt
    """As it was when this process first looked."""

    @property
    def derived_by(self) -> str | None:
        """What its row was derived by; None of a plain one."""
        return None if self.metadata.derived is None else self.metadata.derived.by

    @property
    def why_not(self) -> str | None:
        """Why it cannot be graded again; None if it can."""
        source = self.metadata.error_source
        has_ended = self.metadata.termination_reason is not TerminationReason.ERROR
        by_rule = (ErrorSource.HARNESS, ErrorSource.SITE)  # about grades, and about the last page
        is_ruled = source in by_rule and self.metadata.grader_results and has_ended
        if source not in (None, ErrorSource.GRADER) and not is_ruled:
            return "the attempt errored before its grades could count"
        if not (self.folder / TASK_FILE).is_file():
            return f"its folder has no {TASK_FILE}"
        return None


class StoredPlan(Plan):
    """The trials that a run folder holds, each with the graders that are asked again.

    Args:
        run: the run; its config's graders are asked, without any each attempt's own ones.
    """

    def __init__(self, run: ActiveRun) -> None:
        super().__init__(run.config, run.registry, limit=run.limit, advisory=run.advisory)
        self._store = run.store
        self._modify = run.behaviour.modify_task or (lambda task: task)
        self._redact = run.redact
        self._tasks: dict[TrialKey, Trial] = {}
        self.rows_problem: str | None = None
        """Why the config's datasets cannot be read; then no stored task is compared with its row."""

    # -- collection

    relates = False
    """Attempts that are made already wait for no other."""

    @cached_property
    def stored(self) -> tuple[StoredEntry, ...]:
        """All trials as they were when this process first looked, in the order in which they were run.

        Raises:
            UsageError: a file of the run is damaged.
        """
        return tuple(self._read_all())

    @cached_property
    def _by_name(self) -> dict[str, StoredEntry]:
        return {entry.name: entry for entry in self.stored}

    def _read_all(self) -> Iterator[StoredEntry]:
        last = [trial.last for trial in StoredRun(self._store.root).trials]
        names, rows = _names(last), self._rows()
        for metadata in last:
            key, folder = metadata.key, self._store.root / metadata.place
            dataset, ref = rows.get(key.query_id, (self.config.dataset[0], None))
            place = ref or RowRef(key.query_id, folder / "metadata.json", 0, 0)
            yield StoredEntry(names[key], place, dataset, key.variant, key.trial, folder, metadata)

    def _rows(self) -> dict[str, tuple[DatasetConfig, RowRef | None]]:
        try:
            return {
                ref.query_id: (dataset, ref)
                for dataset in self.config.datasets
                for ref in index_rows(dataset, self.config.base_dir)
            }
        except UsageError as error:
            self.rows_problem = str(error)
            return {}

    def entries(self, only: Collection[str] | None = None, *, is_limited: bool = True) -> Iterator[Entry]:
        """Yield the stored trials.

        Args:
            only: safe ids of rows; the others are left out.
            is_limited: whether rows beyond the limit are left out.

        Raises:
            UsageError: a file of the run is damaged.
        """
        places: dict[str, int] = {}
        limit = self._limit if is_limited else None
        for entry in self.stored:
            name = entry.name.partition("[")[0]
            if limit is not None and places.setdefault(name, len(places)) >= limit:
                continue
            if only is None or name in only:
                yield entry

    def find(self, name: str) -> StoredEntry:
        """Return the trial of an item's name.

        Raises:
            KeyError: there is none.
            UsageError: a file of the run is damaged.
        """
        return self._by_name[name]

    def marks(self, entry: Entry) -> tuple[str, ...]:
        """Return the names of the markers of a stored trial."""
        assert isinstance(entry, StoredEntry)  # noqa: S101 made by this plan
        return mark_names(entry.metadata.dataset, entry.metadata.tags)

    # -- before anything is spent

    def check(self, entries: Iterable[Entry], toolsets: Toolsets | None) -> None:
        """Read what is stored of all given trials, and check that their graders can judge it.

        Raises:
            DatasetError: some cannot be graded; the first five are told, the rest counted.
        """
        del toolsets  # no agent is asked
        problems: list[str] = []
        for entry in entries:
            try:
                self.ready(entry)
            except DatasetError as error:
                problems += [line for line in str(error).splitlines() if line not in problems]
        if problems:
            refuse(problems)

    def ready(self, entry: Entry) -> Trial:
        """Return the task of a stored trial with the graders that judge it, placeholders filled in.

        Raises:
            DatasetError: the file is damaged, or a grader cannot judge the task.
        """
        assert isinstance(entry, StoredEntry)  # noqa: S101 made by this plan
        if entry.key not in self._tasks:
            self._tasks[entry.key] = self._read_stored(entry)
        return self._tasks[entry.key]

    def forget(self, entry: Entry) -> None:
        """Let a trial go that is over."""
        self._tasks.pop(entry.key, None)

    def _read_stored(self, entry: StoredEntry) -> Trial:
        stored, where = read_stored(entry.folder), f"{entry.folder / TASK_FILE}: {entry.name}"
        read_evidence(entry.folder)
        check_log(entry.folder)
        task, row_hash = self._task(entry, where, stored)
        graders = tuple(fill_sites(grader, stored.site_urls) for grader in self.config.graders)
        if not graders:
            graders = self._own(entry, task, stored, where)
            self._check_trust(entry, graders, stored.model_copy(update={"task": task}), where)
        if not graders:
            raise DatasetError(
                f"{where} has no grader, and neither has the config. Name one there (graders: [answer])."
            )
        by = entry.derived_by
        deciding = [grader.label for grader in graders if not grader.advisory and grader.label != by]
        if by is not None:
            own = (one for one in graders if one.label != by)
            graders = (*own, self._read_added(entry, task, stored, where))
        try:
            check_pass_when(self.config.pass_when, deciding)
            for grader in graders:
                grader.check(task, self.config.base_dir)
                check_needs(grader, task, Offers(judge=self.config.judge), self.config)
        except ValueError as error:
            raise DatasetError(f"{where}: {hide_quotes(str(error), task)}") from None
        agent = next(iter(self.config.variants.values()))  # never asked
        return Trial(entry.key, task, add_advisory(graders, self._advisory), agent, row_hash)

    def _read_added(self, entry: StoredEntry, task: Task, stored: StoredTask, where: str) -> GraderConfig:
        """Return the grader that was added to a derived row: as the config has it, else as it is stored."""
        if (dataset := self._find_deriving(entry)) is not None:
            added: GraderConfig = next(iter(dataset.added_graders(task)))
            return fill_sites(added, stored.site_urls)
        by = entry.derived_by
        blocks = [one for one in stored.graders if isinstance(one, dict) and one.get("type") == by]
        if not blocks or MARK in json.dumps(blocks):
            raise DatasetError(f"{where}: the grader of its {by} is not stored as it was; run the row again.")
        return next(read_graders(blocks, self._registry, where))

    def _find_deriving(self, entry: StoredEntry) -> DatasetConfig | None:
        """Return a dataset of the config that derives an attempt's row, its own one before others."""
        derived, query_id = entry.metadata.derived, entry.ref.query_id
        known = (entry.dataset, *self.config.datasets)
        return next((one for one in known if derived and one.find_derived(query_id) == derived), None)

    def _task(self, entry: StoredEntry, where: str, stored: StoredTask) -> tuple[Task, str]:
        """Return the task that an attempt is judged by, and the hash of its row."""
        known = stored.row_hash or entry.metadata.row_hash
        return (self._read_protected(entry, where, stored) if stored.task.protected else stored.task), known

    def _own(
        self, entry: StoredEntry, task: Task, stored: StoredTask, where: str
    ) -> tuple[GraderConfig, ...]:
        """Return the graders of the row, for a config that names none."""
        del task
        # What was added to a derived row is read by itself.
        by = entry.derived_by
        own = stored.model_copy(update={"graders": [g for g in stored.graders if g.get("type") != by]})
        if MARK in json.dumps(own.graders):
            raise DatasetError(
                f"{where}: its graders hold a secret, which is not stored. Write the graders into the config."
            )
        # An imported attempt has none: its row's own ones have not been asked yet.
        return tuple(read_graders(own.graders or own.task.graders, self._registry, where))

    def _check_trust(
        self, entry: StoredEntry, graders: Iterable[GraderConfig], stored: StoredTask, where: str
    ) -> None:
        """Refuse graders that only a trusted dataset may have: a run folder may come from elsewhere too."""
        datasets = self.config.datasets if self._is_gone(entry) else (entry.dataset,)
        if all(dataset.trusted for dataset in datasets):
            return
        blocks = read_graders(entry.dataset.own_graders, self._registry, where)
        own = [fill_sites(grader, stored.site_urls).model_dump_json() for grader in blocks]
        foreign = [grader for grader in graders if grader.model_dump_json() not in own]
        try:
            check_trust(foreign, stored.task, stored.site_urls)
        except ValueError as error:
            raise DatasetError(f"{where}: {error}") from None

    def _read_protected(self, entry: StoredEntry, where: str, stored: StoredTask) -> Task:
        """Return the row itself: what is stored of it has no answers."""
        row = self._read_row(entry)
        if row is None or row.content_hash() != (stored.row_hash or entry.metadata.row_hash):
            raise DatasetError(
                f"{where}: its answers are protected and are only in the dataset, which does not have the "
                "row as it was in the run. Name the dataset of the run in the config, unchanged, or leave "
                f"the row out.{f' {self.rows_problem}' if self.rows_problem else ''}"
            )
        return self.as_run(row, stored)

    def as_run(self, row: Task, stored: StoredTask) -> Task:
        """Return a row as an attempt would have had it: changed by plug-ins, placeholders filled in.

        What graders compare with has no secrets, as the records of the attempt have none.

        Raises:
            DatasetError: a plug-in breaks, or makes another row of it.
        """
        try:
            task = self._modify(row)
        except Fault as fault:
            raise DatasetError(f"row {row.query_id!r}: {fault}") from None
        filled = fill(task.model_dump(), stored.site_urls)
        compared = {key: redact_json(filled[key], self._redact) for key in ("answer", "checks", "rubric")}
        return Task.model_validate({**filled, **compared})

    def _is_gone(self, entry: StoredEntry) -> bool:
        return entry.ref.path == entry.folder / "metadata.json"

    def _read_row(self, entry: StoredEntry) -> Task | None:
        """Return the row of a trial as the dataset has it now; None if it is gone or cannot be read."""
        if self._is_gone(entry):
            return None
        try:
            return read_row(entry.dataset, entry.ref)
        except DatasetError:
            return None

    def count_gone(self) -> int:
        """Return how many trials are of rows that the config's datasets do not have, or no more."""
        return sum(self._is_gone(entry) for entry in self.stored)

    def list_edited_rows(self) -> list[str]:
        """Return the ids of rows that are not what they were in the run."""
        other, edited = self.list_other_derived(), dict[str, None]()
        for entry in self.stored:
            is_told = entry.metadata.derived is not None and entry.metadata.derived.name in other
            row = None if is_told or entry.why_not is not None else self._read_row(entry)
            if row is not None and row.content_hash() != entry.metadata.row_hash:
                edited[entry.ref.query_id] = None
        return [*edited]

    def list_new_rows(self) -> list[str]:
        """Return the ids of rows of the datasets that have no attempt in the run, in their order."""
        known = {entry.ref.query_id for entry in self.stored}
        return [query_id for query_id in self._rows() if query_id not in known]

    def list_other_derived(self) -> list[str]:
        """Return each ``Derived.name`` that is another in the config, is not there any more, or is new."""
        before = {one.name: one.revision for entry in self.stored if (one := entry.metadata.derived)}
        rows = self._rows().items() if len(self.config.datasets) > len(self.config.dataset) else ()
        found = (dataset.find_derived(query_id) for query_id, (dataset, _) in rows)
        now = {one.name: one.revision for one in found if one is not None}
        return [name for name in before | now if before.get(name) != now.get(name)]


def _names(trials: Iterable[StoredAttempt]) -> dict[TrialKey, str]:
    """Return what each trial's item is called: as in the run where that is known, and never two alike."""
    names: dict[TrialKey, str] = {}
    taken: set[str] = set()
    for data in trials:
        own, plain = data.node_id.partition("::")[2], safe_id(data.query_id)
        name = own if re.fullmatch(re.escape(plain) + r"(\[[\w.-]+\])?", own, re.ASCII) else plain
        if name in taken:
            name = f"{plain}[{data.variant}-{data.trial}]"
        names[data.key] = name
        taken.add(name)
    return names
