"""Plan of an eval: rows by variants by trials, each with its name, and each read and checked once."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from pytest_browsereval.agents.base import AgentConfig
from pytest_browsereval.config import EvalConfig
from pytest_browsereval.config.variables import Variables
from pytest_browsereval.contracts import naming
from pytest_browsereval.datasets.base import DatasetConfig, RowRef, Select
from pytest_browsereval.datasets.files import locate_files
from pytest_browsereval.datasets.ids import original_id, safe_id
from pytest_browsereval.datasets.reader import index_rows, read_row
from pytest_browsereval.datasets.rows import refuse
from pytest_browsereval.datasets.selection import check_depends_on
from pytest_browsereval.errors import DatasetError, PluginError
from pytest_browsereval.graders.base import GraderConfig
from pytest_browsereval.graders.protection import hide_quotes
from pytest_browsereval.graders.verdicts import check_pass_when
from pytest_browsereval.model.derived import Derived
from pytest_browsereval.model.tasks import Task
from pytest_browsereval.model.trials import TrialKey
from pytest_browsereval.registry import Registry
from pytest_browsereval.run.relations import ALONE, Relations, notes_on, relations_of
from pytest_browsereval.run.row_checks import (
    add_advisory,
    check_agent,
    check_row,
    check_that_all_is_read,
    read_own_graders,
)
from pytest_browsereval.run.toolsets import Toolsets


@dataclass(frozen=True, slots=True)
class Entry:
    """One trial that is to run: the seed of one item."""

    name: str
    """The last part of the node id: ``safe-id`` or ``safe-id[variant-trial]``."""
    ref: RowRef
    dataset: DatasetConfig
    variant: str
    trial: int

    @property
    def key(self) -> TrialKey:
        """Which trial it is."""
        return TrialKey(self.ref.query_id, self.variant, self.trial)

    @property
    def where(self) -> str:
        """File, line and id of its row, for messages."""
        return f"{self.ref.path}:{self.ref.line}: row {self.ref.query_id!r}"


@dataclass(frozen=True)
class Trial:
    """A row that was read and checked, with who works on it and who judges it."""

    key: TrialKey
    task: Task
    graders: tuple[GraderConfig, ...]
    agent: AgentConfig
    """Of a run that is graded again it is not asked."""
    row_hash: str = ""
    """Of the row, before plug-ins changed it and placeholders were filled in."""
    is_output_passed_on: bool = False
    """Whether what an attempt prints goes on to what captures, as the output of a test does."""
    sites: frozenset[str] = frozenset()
    """Sites that the row uses but may no longer name: placeholders may have been filled in before."""
    site_urls: Mapping[str, str] = field(default_factory=dict)
    """Sites that are leased already by the runner of the trial: the attempt works with these instances."""
    variables: Variables = field(default_factory=lambda: Variables({}, {}), repr=False)
    """Values that an agent may type, by the names of their variables; none for a row that is not trusted."""
    derived: Derived | None = None
    """What the row was derived from; None for a plain one."""
    files: Mapping[str, Path] = field(default_factory=dict)
    """Where the files of the row are, by their names."""

    @property
    def content_hash(self) -> str:
        """Says what the row was before plug-ins changed it and placeholders were filled in."""
        return self.row_hash or self.task.content_hash()


class Plan:
    """All trials of a config, and the way from one to its checked row.

    Args:
        config: whose rows they are.
        registry: where rows look their graders up.
        limit: take the first so many rows only.
        advisory: graders that are asked after those of config and rows, and decide nothing.
        modify: what plug-ins make of a row, None if nothing: they may put addresses into it.
    """

    def __init__(
        self,
        config: EvalConfig,
        registry: Registry,
        *,
        limit: int | None = None,
        advisory: tuple[GraderConfig, ...] = (),
        modify: Callable[[Task], Task] | None = None,
    ) -> None:
        self.config = config
        self._registry = registry
        self._limit = limit
        self._advisory = advisory
        self._modify_row = modify
        self._ready: dict[tuple[str, str], Trial] = {}
        self._relations: dict[TrialKey, Relations] = {}
        self._problem: PluginError | None = None

    # -- collection: nothing but ids

    def entries(self, only: Collection[str] | None = None, *, is_limited: bool = True) -> Iterator[Entry]:
        """Yield the trials in the order of the file; rows first, then variants, then trials.

        Args:
            only: safe ids of rows; the others are left out, which saves reading them.
            is_limited: whether rows beyond the limit are left out.

        Raises:
            DatasetError: a file is missing or unreadable, ids are missing or clash.
        """
        attempts, limit = list(self.attempts()), self._limit if is_limited else None
        seen: dict[str, RowRef] = {}
        kept: set[str] = set()
        for dataset in self.config.datasets:
            for ref in index_rows(dataset, self.config.base_dir, self._ids(only)):
                name = safe_id(ref.query_id)
                if (other := seen.setdefault(name, ref)) is not ref:
                    raise DatasetError(
                        f"{ref.path}:{ref.line}: the id {ref.query_id!r} is in {other.path}:{other.line}. "
                        "Ids must differ across all datasets of a config; rename one."
                    )
                if limit is not None:
                    derived = dataset.find_derived(ref.query_id)
                    if derived is None and len(kept) == limit:
                        break
                    if derived is None:
                        kept.add(ref.query_id)
                    elif derived.of not in kept:
                        continue
                if only is not None and name not in only:
                    continue
                for suffix, variant, trial in attempts:
                    yield Entry(name + suffix, ref, dataset, variant, trial)

    def attempts(self) -> Iterator[tuple[str, str, int]]:
        """Yield the variants and trials of a row, each with the end of its name."""
        variants, trials = list(self.config.variants), self.config.most_trials
        for variant in variants:
            for trial in range(1, trials + 1):
                known = (len(variants) > 1, variant), (trials > 1, str(trial))
                parts = [part for is_shown, part in known if is_shown]
                yield f"[{'-'.join(parts)}]" if parts else "", variant, trial

    def _ids(self, names: Collection[str] | None) -> list[str] | None:
        """Return the ids of named rows, so that the others need not be read; None if all have to be."""
        if names is None or self._limit is not None:
            return None
        ids = [original_id(name) for name in names]
        known = [query_id for query_id in ids if query_id is not None]
        return known if len(known) == len(ids) else None  # a name that was cut gives no id

    def find(self, name: str) -> Entry:
        """Return the trial of an item's name.

        Raises:
            KeyError: there is none.
        """
        for entry in self.entries(only={name.partition("[")[0]}):
            if entry.name == name:
                return entry
        raise KeyError(name)

    def marks(self, entry: Entry) -> tuple[str, ...]:
        """Return the names of the markers that a row's dataset and tags become.

        Raises:
            DatasetError: the row cannot be read.
        """
        ready = self._ready.get(self._key(entry))
        # One that was not checked is not kept either: with -k and -m every row of the file is read.
        task = read_row(entry.dataset, entry.ref) if ready is None else ready.task
        return mark_names(task.dataset, task.tags)

    @cached_property
    def relates(self) -> bool:
        """Whether rows may have to do with each other, so that they are read while collecting."""
        try:
            return any(map(self._ask_dataset, self.config.datasets))
        except PluginError as error:  # :meth:`check` reports it
            self._problem = error
            return True

    def _ask_dataset(self, dataset: DatasetConfig) -> bool:
        with naming(dataset, "relates"):
            return dataset.relates(self.config.base_dir)

    def relations(self, entry: Entry) -> Relations:
        """Return what a trial has to do with others; nothing if its row is wrong, which is told later."""
        if not self.relates:
            return ALONE
        key = entry.key
        if key not in self._relations:
            name, course = f"{self.config.base_dir}/{self.config.name}", f"{entry.variant}-{entry.trial}"
            try:
                task = read_row(entry.dataset, entry.ref)
            except (DatasetError, PluginError):
                self._relations[key] = ALONE
            else:
                self._relations[key] = relations_of(task, self.config.sites, name, course)
        return self._relations[key]

    def notes(self, entries: Iterable[Entry]) -> list[str]:
        """Return what a reader of the run should know of how its rows belong together; they were checked."""
        if not self.relates:
            return []
        tasks = {entry.ref.query_id: self.ready(entry).task for entry in entries}
        return notes_on(tasks.values(), tasks, self.config.sites)

    # -- before the first attempt: every selected row in full

    def check(self, entries: Iterable[Entry], toolsets: Toolsets | None) -> None:
        """Read and check the rows of all given trials.

        Args:
            entries: the trials.
            toolsets: the tools that agents may have; None where no agent is asked.

        Raises:
            DatasetError: some are wrong; the first five are told with file and line, the rest counted.
            PluginError: a plug-in raises or returns what it must not.
        """
        if self._problem is not None:
            raise self._problem
        problems: list[str] = []
        tasks: dict[str, Task] = {}
        checked: set[tuple[str, str]] = set()
        for entry in entries:
            try:
                trial = self.ready(entry)
                tasks[entry.ref.query_id] = trial.task
                if toolsets is not None and (key := self._key(entry)) not in checked:
                    checked.add(key)
                    self.check_agent(trial, entry, toolsets)
            except DatasetError as error:
                problems += [line for line in str(error).splitlines() if line not in problems]
        if problems:
            refuse(problems)
        if any(task.depends_on for task in tasks.values()):
            check_depends_on(tasks.values(), list_ids(self.config, is_selected=False))

    def ready(self, entry: Entry) -> Trial:
        """Return a trial, its row checked against graders and agent.

        Raises:
            DatasetError: with file, line, what was given and what to write.
        """
        key = self._key(entry)
        if key not in self._ready:
            self._ready[key] = self._read(entry)
        return replace(self._ready[key], key=entry.key)  # rows are read once for all their trials

    def _key(self, entry: Entry) -> tuple[str, str]:
        return entry.ref.query_id, entry.variant

    def forget(self, entry: Entry) -> None:
        """Let a row go whose last trial is over, so that a long run stays small."""
        self._ready.pop(self._key(entry), None)

    def _read(self, entry: Entry) -> Trial:
        task, where = read_row(entry.dataset, entry.ref), entry.where
        try:
            return self._check(task, entry, where)
        except DatasetError as error:
            raise DatasetError(where + hide_quotes(str(error).removeprefix(where), task)) from None

    def _check(self, task: Task, entry: Entry, where: str) -> Trial:
        config = self.config
        graders = config.graders or read_own_graders(task, entry.dataset, self._registry, where)
        if not graders:
            raise DatasetError(
                f"{where} has no grader, and neither has the config. Name one in the row "
                '("graders": ["answer"]) or for all rows in the config (graders: [answer]).'
            )
        deciding = [grader.label for grader in graders if not grader.advisory]
        graders = (*graders, *entry.dataset.added_graders(task))
        labels = [grader.label for grader in graders]
        if len(set(labels)) < len(labels):
            raise DatasetError(f"{where}: graders {labels} share a name. Give one a `name` of its own.")
        try:
            check_pass_when(config.pass_when, deciding)
            check_row(config, task, graders, self._modify_row)
        except ValueError as error:
            raise DatasetError(f"{where}: {error}") from None
        if not (config.graders and task.graders):  # else a config leaves the row's own out, on purpose
            check_that_all_is_read(task, graders, self._registry, where)
        return Trial(
            entry.key,
            task,
            add_advisory(graders, self._advisory),
            config.variants[entry.variant],
            derived=entry.dataset.find_derived(task.query_id),
            variables=config.variable_values() if entry.dataset.trusted else Variables({}, {}),
            files=locate_files(task, entry.ref),
        )

    def check_agent(self, trial: Trial, entry: Entry, toolsets: Toolsets) -> None:
        """Check that an agent can work on its row with the tools that it has.

        Raises:
            DatasetError: it cannot.
        """
        try:
            is_trusted, variant = entry.dataset.trusted, entry.variant
            check_agent(self.config, trial.task, trial.graders, variant, toolsets, is_trusted=is_trusted)
        except ValueError as error:
            raise DatasetError(f"{entry.where}: {hide_quotes(str(error), trial.task)}") from None


def list_ids(
    config: EvalConfig, only: Collection[str] | None = None, *, is_selected: bool = True
) -> set[str]:
    """Return the ids of the rows of a config.

    Args:
        config: whose rows they are.
        only: ids that are looked for; None lists all.
        is_selected: whether rows are left out that ``select`` leaves out.

    Raises:
        DatasetError: a dataset cannot be read.
    """
    datasets = config.datasets
    if not is_selected:
        datasets = tuple(one.model_copy(update={"select": Select()}) for one in datasets)
    return {ref.query_id for dataset in datasets for ref in index_rows(dataset, config.base_dir, only)}


def mark_names(dataset: str, tags: Iterable[str]) -> tuple[str, ...]:
    """Return the names of the markers that a dataset and tags become."""
    names = [re.sub(r"\W", "_", name).lstrip("_") for name in (dataset, *tags)]
    return tuple(dict.fromkeys(name for name in names if name))
