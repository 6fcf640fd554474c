"""What all file formats share: rows become tasks, ids are unique, selections are deterministic."""

from __future__ import annotations

import gc
import heapq
import random
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

from pydantic import Field, ValidationError

from pytest_browsereval.datasets.base import DatasetConfig, RowRef, Select
from pytest_browsereval.documents import shown
from pytest_browsereval.errors import DatasetError, nearest
from pytest_browsereval.model.tasks import Task
from pytest_browsereval.problems import problems_in, short

SHOWN = 5
"""How many problems a message lists before it counts the rest."""

TYPE_BY_SUFFIX = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "json",
    ".csv": "csv",
    ".yaml": "yaml",
    ".yml": "yaml",
}
"""The member that reads a file when its block names none."""

ADDITIONAL = "metadata.additional"


class RowFile(DatasetConfig):
    """Base of the members that read rows of a file."""

    columns: dict[str, str] = Field(default_factory=dict)
    """Which column of the file holds which key of a row, ``{query_id: ID, query: Task}``; keys of the
    metadata are written ``metadata.category``. Columns that are not named then go to
    ``metadata.additional``."""

    @property
    def id_column(self) -> str:
        """The column that holds the ids."""
        return self.columns.get("query_id", "query_id")

    def file(self, base_dir: Path) -> Path:
        """Return the absolute path of the file."""
        return (base_dir / self.path).absolute()

    def task(self, row: Any, ref: RowRef) -> Task:
        """Return a row that was read again as a task.

        Raises:
            DatasetError: it is wrong, or not the row that was collected.
        """
        where = f"{shown(ref.path)}:{ref.line}"
        if not isinstance(row, dict) or row.get(self.id_column) != ref.query_id:
            raise DatasetError(
                f"{where}: the row {ref.query_id!r} is no longer here: the file was changed during the run. "
                "Start the run again."
            )
        return to_task(renamed(row, self.columns) if self.columns else row, where)


# -- one row


def to_task(row: Mapping[str, Any], where: str) -> Task:
    """Return a row as a task.

    Args:
        row: keys of a task with their values.
        where: file and line, for messages.

    Raises:
        DatasetError: keys are unknown or missing, values are wrong; one line for each.
    """
    try:
        return Task.model_validate(row)
    except ValidationError as error:
        problems = problems_in(error, Task, row)
        raise DatasetError("\n".join(f"{where}: {p.where}: {p.message}" for p in problems)) from None


def renamed(row: Mapping[str, Any], columns: Mapping[str, str]) -> dict[str, Any]:
    """Return a row with the keys of a task: columns renamed, unnamed ones in ``metadata.additional``."""
    key_of = {column: key for key, column in columns.items()}
    fields = set(Task.model_fields)
    result: dict[str, Any] = {}
    for column, value in row.items():
        key = key_of.get(column) or (column if column in fields and column not in columns else "")
        target, name = result, key
        if not key:
            target, name = _block(result, ADDITIONAL), column
        elif key.startswith("metadata."):
            target, name = _block(result, "metadata"), key.removeprefix("metadata.")
        earlier = target.get(name)
        merges = isinstance(earlier, dict) and isinstance(value, dict)
        target[name] = {**value, **earlier} if merges else value
    return result


def _block(row: dict[str, Any], dotted: str) -> dict[str, Any]:
    for name in dotted.split("."):
        row = row.setdefault(name, {})
    return row


# -- all rows of a file


@contextmanager
def gc_paused() -> Iterator[None]:
    """Keep the cyclic collector off: it would walk 100,000 new objects again and again."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


class Ids:
    """Collects the rows of a file and what is wrong with their ids."""

    def __init__(self, path: Path, id_column: str) -> None:
        self.path = path
        self.refs: list[RowRef] = []
        self._column = id_column
        self._first: dict[str, int] = {}
        self._problems: list[str] = []

    def add(self, query_id: str, line: int, offset: int, length: int = 0) -> None:
        """Add a row whose id is known to be a text."""
        if self._first.setdefault(query_id, line) != line:
            told = (
                f"the id {query_id!r} is also in line {self._first[query_id]}. Ids must differ; rename one."
            )
            self.wrong(line, told)
        elif not query_id:
            self.wrong(line, f"{self._column} is empty. Give every row an id.")
        else:
            self.refs.append(RowRef(query_id, self.path, line, offset, length))

    def add_row(self, row: object, line: int, offset: int, length: int = 0) -> None:
        """Add a row that was parsed."""
        if not isinstance(row, dict):
            self.wrong(line, f"a row is a block of keys, not {short(row)}.")
        elif self._column not in row:
            hint = nearest(self._column, map(str, row))
            self.wrong(line, f"the row has no {self._column!r}.{hint} Give every row an id.")
        elif not isinstance(row[self._column], str):
            self.wrong(
                line, f"{self._column}: expected a text, not {short(row[self._column])}; put it in quotes."
            )
        elif not _encodable(row[self._column]):
            self.wrong(
                line, f"{self._column}: {short(row[self._column])} holds half a character (a lone surrogate)."
            )
        else:
            self.add(row[self._column], line, offset, length)

    def wrong(self, line: int, message: str) -> None:
        """Note what is wrong in a line."""
        self._problems.append(f"{shown(self.path)}:{line}: {message}")

    def done(self) -> list[RowRef]:
        """Return the rows.

        Raises:
            DatasetError: something is wrong, or there is no row.
        """
        if self._problems:
            refuse(self._problems)
        if not self.refs:
            raise DatasetError(f"{shown(self.path)}: the file has no rows. Write one task per line or entry.")
        return self.refs


def _encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def refuse(problems: Sequence[str]) -> NoReturn:
    """Raise one error for all problems: the first five are told, the rest counted.

    Raises:
        DatasetError: always.
    """
    more = f"\nand {len(problems) - SHOWN} more" if len(problems) > SHOWN else ""
    raise DatasetError("\n".join(problems[:SHOWN]) + more)


# -- selection


def selected(
    refs: list[RowRef], select: Select, tags_of: Callable[[RowRef], Collection[str]], path: Path
) -> list[RowRef]:
    """Return the rows that a selection takes, in file order: by ids, tags, sample, limit.

    Args:
        refs: all rows of the file.
        select: which to take.
        tags_of: returns the tags of a row; called only if tags are asked for.
        path: the file, for messages.

    Raises:
        DatasetError: an id is not in the file, or no row has one of the tags.
    """
    if select.ids:
        refs = _with_ids(refs, select.ids, path)
    if select.tags:
        refs = _with_tags(refs, select.tags, tags_of, path)
    if select.sample is not None and select.sample < len(refs):
        # Only random() is promised to be the same in every version of Python; sample() is not.
        draw = random.Random(select.seed).random  # noqa: S311 a sample, not a secret
        drawn = heapq.nsmallest(select.sample, ((draw(), place) for place in range(len(refs))))
        refs = [refs[place] for place in sorted(place for _, place in drawn)]
    return refs[: select.limit]


def _with_ids(refs: list[RowRef], ids: Sequence[str], path: Path) -> list[RowRef]:
    known = {ref.query_id for ref in refs}
    missing = [f"{shown(path)}: select.ids: no row {i!r}.{nearest(i, known)}" for i in ids if i not in known]
    if missing:
        refuse(missing)
    wanted = set(ids)
    return [ref for ref in refs if ref.query_id in wanted]


def _with_tags(
    refs: list[RowRef], tags: Sequence[str], tags_of: Callable[[RowRef], Collection[str]], path: Path
) -> list[RowRef]:
    wanted, seen, kept = set(tags), set[str](), []
    for ref in refs:
        own = set(tags_of(ref))
        seen |= own
        if own & wanted:
            kept.append(ref)
    unknown = [tag for tag in tags if tag not in seen]
    if unknown:
        tag = unknown[0]
        listed = ", ".join(sorted(seen)[:20]) or "none"
        raise DatasetError(
            f"{shown(path)}: select.tags: no row has the tag {tag!r}.{nearest(tag, seen)} Tags: {listed}."
        )
    return kept


# -- several rows at once


def read_all(rows: Iterable[tuple[DatasetConfig, RowRef]]) -> list[Task]:
    """Return the tasks of many rows.

    Raises:
        DatasetError: some are wrong; the first five problems are told, the rest counted.
    """
    tasks: list[Task] = []
    problems: list[str] = []
    for dataset, ref in rows:
        try:
            tasks.append(dataset.read(ref))
        except DatasetError as error:
            problems += str(error).splitlines()
    if problems:
        refuse(problems)
    return tasks


def check_depends_on(tasks: Iterable[Task], known: Collection[str]) -> None:
    """Check that every task that another one depends on exists, and that none waits for itself.

    Args:
        tasks: the tasks of a run.
        known: the ids of all rows of its datasets.

    Raises:
        DatasetError: an id is unknown, or tasks wait for each other in a ring.
    """
    needs = {task.query_id: task.depends_on for task in tasks}
    problems = [
        f"row {query_id!r}: depends_on: no row {other!r}.{nearest(other, known)}"
        for query_id, others in needs.items()
        for other in others
        if other not in known
    ]
    if problems:
        refuse(problems)
    if ring := _ring(needs):
        raise DatasetError(f"rows wait for each other: {' -> '.join(map(repr, ring))}. Drop one depends_on.")


def _ring(needs: Mapping[str, Sequence[str]]) -> list[str]:
    """Return ids that lead back to the first of them; empty if there are none."""
    over: set[str] = set()
    for start in needs:
        trail: list[str] = []
        pending = [(start, iter(needs[start]))] if start not in over else []
        while pending:
            name, others = pending[-1]
            if len(trail) < len(pending):
                trail.append(name)
            following = next((other for other in others if other not in over), None)
            if following is None:
                over.add(name)
                pending.pop()
                trail.pop()
            elif following in trail:
                return [*trail[trail.index(following) :], following]
            else:
                pending.append((following, iter(needs.get(following, ()))))
    return []
