"""What an eval config asks for: rows by variants by trials, each with its name, and each row checked."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

from pydantic import ValidationError

from pytest_browsereval.agents.base import AgentConfig
from pytest_browsereval.config import EvalConfig
from pytest_browsereval.datasets.base import DatasetConfig, RowRef, Select
from pytest_browsereval.datasets.ids import original_id, safe_id
from pytest_browsereval.datasets.rows import refuse
from pytest_browsereval.datasets.selection import check_depends_on
from pytest_browsereval.errors import DatasetError, RegistryError
from pytest_browsereval.graders.base import GraderConfig
from pytest_browsereval.graders.verdicts import check_pass_when
from pytest_browsereval.model.tasks import Task
from pytest_browsereval.registry import Registry
from pytest_browsereval.run.store import TrialKey
from pytest_browsereval.tools.base import Tool


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


@dataclass(frozen=True)
class ReadyTask:
    """A row that was read, checked and given its graders."""

    task: Task
    graders: tuple[GraderConfig, ...]


class Plan:
    """All trials of a config, and the way from one to its checked row."""

    def __init__(self, config: EvalConfig, registry: Registry, tools: Mapping[str, Tool]) -> None:
        self.config = config
        self._registry = registry
        self._tools = tools
        self._ready: dict[tuple[str, int, str], ReadyTask] = {}
        self.limit: int | None = None
        """Take the first so many rows only."""

    # -- collection: nothing but ids

    def entries(self, only: Collection[str] | None = None) -> Iterator[Entry]:
        """Yield the trials in the order of the file; rows first, then variants, then trials.

        Args:
            only: safe ids of rows; the others are left out, which saves reading them.

        Raises:
            DatasetError: a file is missing or unreadable, ids are missing or clash.
        """
        variants, trials = list(self.config.variants), self.config.trials
        seen: dict[str, RowRef] = {}
        for dataset in self.config.dataset:
            for ref in dataset.index(self.config.base_dir, self._ids(only)):
                name = safe_id(ref.query_id)
                if (other := seen.setdefault(name, ref)) is not ref:
                    raise DatasetError(
                        f"{ref.path}:{ref.line}: the id {ref.query_id!r} is in {other.path}:{other.line}. "
                        "Ids must differ over all datasets of a config; rename one."
                    )
                if self.limit is not None and len(seen) > self.limit:
                    return
                if only is not None and name not in only:
                    continue
                for variant in variants:
                    for trial in range(1, trials + 1):
                        suffix = _suffix(variant, trial, len(variants), trials)
                        yield Entry(name + suffix, ref, dataset, variant, trial)

    def _ids(self, names: Collection[str] | None) -> list[str] | None:
        """Return the ids of named rows, so that the others need not be read; None if all have to be."""
        if names is None or self.limit is not None:
            return None
        ids = [original_id(name) for name in names]
        known = [query_id for query_id in ids if query_id is not None]
        return known if len(known) == len(ids) else None  # a name that was cut gives no id

    def find(self, name: str) -> Entry:
        """Return the trial of an item's name, which may end in xdist's ``@group``.

        Raises:
            KeyError: there is none.
        """
        name = name.partition("@")[0]
        for entry in self.entries(only={name.partition("[")[0]}):
            if entry.name == name:
                return entry
        raise KeyError(name)

    def marks(self, entry: Entry) -> tuple[str, ...]:
        """Return the names of the markers that a row's dataset and tags become.

        Raises:
            DatasetError: the row cannot be read.
        """
        task = self.ready(entry).task
        names = [re.sub(r"\W", "_", name).lstrip("_") for name in (task.dataset, *task.tags)]
        return tuple(dict.fromkeys(name for name in names if name))

    # -- before the first attempt: every selected row in full

    def check(self, entries: Iterable[Entry]) -> None:
        """Read and check the rows of all given trials.

        Raises:
            DatasetError: some are wrong; the first five are told with file and line, the rest counted.
        """
        problems: list[str] = []
        tasks: dict[str, Task] = {}
        for entry in entries:
            try:
                tasks[entry.ref.query_id] = self.ready(entry).task
            except DatasetError as error:
                problems += [line for line in str(error).splitlines() if line not in problems]
        if problems:
            refuse(problems)
        if any(task.depends_on for task in tasks.values()):
            check_depends_on(tasks.values(), self._all_ids())

    def _all_ids(self) -> set[str]:
        """Return the ids of all rows of the datasets, those that are not selected too."""
        whole = (dataset.model_copy(update={"select": Select()}) for dataset in self.config.dataset)
        return {ref.query_id for dataset in whole for ref in dataset.index(self.config.base_dir)}

    def ready(self, entry: Entry) -> ReadyTask:
        """Return the trial's row with its graders, checked against graders, agent and tools.

        Raises:
            DatasetError: with file, line, what was given and what to write.
        """
        key = (str(entry.ref.path), entry.ref.offset, entry.variant)
        if key not in self._ready:
            self._ready[key] = self._read(entry)
        return self._ready[key]

    def forget(self, entry: Entry) -> None:
        """Let a row go whose last trial is over, so that a long run stays small."""
        self._ready.pop((str(entry.ref.path), entry.ref.offset, entry.variant), None)

    def _read(self, entry: Entry) -> ReadyTask:
        task = entry.dataset.read(entry.ref)
        where = f"{entry.ref.path}:{entry.ref.line}: row {task.query_id!r}"
        graders = self.config.graders or tuple(self._graders(task, where))
        if not graders:
            raise DatasetError(
                f"{where} has no grader, and neither has the config. Name one in the row "
                '("graders": ["answer"]) or for all rows in the config (graders: [answer]).'
            )
        labels = [grader.label for grader in graders]
        if len(set(labels)) < len(labels):
            raise DatasetError(f"{where}: graders {labels} share a name. Give one a `name` of its own.")
        agent: AgentConfig = self.config.variants[entry.variant]
        try:
            agent.check(task, self._tools)
            check_pass_when(self.config.pass_when, labels)
            for grader in graders:
                grader.check(task)
        except ValueError as error:
            raise DatasetError(f"{where}: {error}") from None
        if not (self.config.graders and task.graders):  # else a config leaves the row's own out, on purpose
            self._check_that_all_is_read(task, graders, where)
        return ReadyTask(task, graders)

    def _check_that_all_is_read(self, task: Task, graders: Iterable[GraderConfig], where: str) -> None:
        """Refuse a row with a check that would be passed over in silence."""
        for check in task.checks:
            if not any(grader.reads(check) for grader in graders):
                readers = [
                    name
                    for name, member, _ in self._registry.members("grader")
                    if issubclass(member, GraderConfig) and member.reads(check)
                ]
                keys, named = ", ".join(f"`{key}`" for key in check), " or ".join(readers)
                raise DatasetError(
                    f"{where}: the row has a check with {keys}, but no grader that reads it. "
                    f"Add {named or 'a grader that does'}, or take the check out."
                )

    def _graders(self, task: Task, where: str) -> Iterator[GraderConfig]:
        for given in task.graders:
            block = {"type": given} if isinstance(given, str) else given
            name = block.get("type")
            if not isinstance(name, str):
                raise DatasetError(f"{where}: the grader {given!r} has no type. Write {{'type': NAME}}.")
            try:
                member = self._registry.get("grader", name)
                grader = member.model_validate(
                    {**block, "type": member.type_name()}, context={"registry": self._registry}
                )
            except RegistryError as error:
                raise DatasetError(f"{where}: {error}") from None
            except ValidationError as error:
                problems = "; ".join(f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors())
                raise DatasetError(f"{where}: grader {name}: {problems}") from None
            assert isinstance(grader, GraderConfig)  # noqa: S101 what the family holds
            yield grader


def _suffix(variant: str, trial: int, variants: int, trials: int) -> str:
    parts = [variant] * (variants > 1) + [str(trial)] * (trials > 1)
    return f"[{'-'.join(parts)}]" if parts else ""
