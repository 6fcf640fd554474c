"""Base of the importers: a published benchmark's own file, each row made into one of ours."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from pydantic import JsonValue

from pytest_browsereval.config_text import DocumentError, format_path, parse, read_text
from pytest_browsereval.config_text.json_text import json_value
from pytest_browsereval.datasets.base import DatasetConfig, RowRef
from pytest_browsereval.datasets.rows import RELATING, Ids, changed_file, refuse, to_task
from pytest_browsereval.datasets.selection import select_rows
from pytest_browsereval.datasets.source import Row, State, read_table, refuse_unreadable, state_of
from pytest_browsereval.model.display import format_count
from pytest_browsereval.model.tasks import Task
from pytest_browsereval.session_caches import cache_for_session

Original = Mapping[str, Any]
"""A row as the benchmark publishes it."""


class RowProblem(Exception):
    """A row is not of the benchmark's shape; the message says what is wrong, without file and line."""


class Dropped(Exception):
    """A row cannot be run on purpose, an infeasible task say; the message is the reason, which is told."""


@dataclass(frozen=True)
class Imported:
    """A benchmark's file: its rows in our form, and those that were dropped with the reasons."""

    rows: tuple[tuple[int, dict[str, Any]], ...]
    """Lines and rows with the keys of a task."""
    dropped: tuple[tuple[str, str], ...] = ()
    """Ids and reasons."""
    refs: tuple[RowRef, ...] = ()
    """Where each row is."""


class BenchmarkConfig(DatasetConfig):
    """Base of the importers.

    A member says in ``convert`` what becomes of one original row; order and ids follow from the file alone.
    """

    selects: ClassVar[bool] = True

    title: ClassVar[str] = ""
    """What the benchmark calls itself, for messages; also the rows' ``dataset``, in lower case."""

    graders: tuple[str | dict[str, JsonValue], ...] = ()
    """Graders of the rows, in the place of those that the benchmark's own rules ask for."""

    @property
    def own_graders(self) -> Sequence[str | dict[str, JsonValue]]:
        """Graders of the rows that stand in the config, in this block."""
        return self.graders

    @abstractmethod
    def convert(self, original: Any) -> dict[str, Any]:
        """Return an original row with the keys of a task; the base adds what all have.

        ``metadata.source`` is the original unless the row says otherwise.

        Raises:
            RowProblem: it is not of the benchmark's shape.
            Dropped: it cannot be run, for a reason that is told.
        """
        raise NotImplementedError

    def originals(self, path: Path) -> Sequence[Row]:
        """Return the original rows of a file, by its suffix: JSON, JSON Lines, CSV or TSV.

        Raises:
            DocumentError: the file cannot be read as that.
        """
        return read_rows(path)

    def import_rows(self, base_dir: Path) -> Imported:
        """Return all rows of the file.

        Raises:
            DatasetError: it cannot be read, is empty, or holds rows that are not of the benchmark's shape.
        """
        path = self.file(base_dir)
        with refuse_unreadable(path):
            config = self.model_copy(update={"path": path})
            return _import_file(_Key(config.model_dump_json(), type(self), config), state_of(path))

    def index(self, base_dir: Path, ids: Collection[str] | None = None) -> Sequence[RowRef]:
        """Return the selected rows, in file order.

        Args:
            base_dir: the folder of the eval config.
            ids: where only these are wanted, the others may be left out.

        Raises:
            DatasetError: the file cannot be used.
        """
        path, imported = self.file(base_dir), self.import_rows(base_dir)
        rows, refs = imported.rows, list(imported.refs)
        return select_rows(refs, self.select, lambda ref: rows[ref.offset][1], path, ids)

    def relates(self, base_dir: Path) -> bool:
        """Whether a row depends on others or shares the state of sites.

        Raises:
            DatasetError: the file cannot be used.
        """
        return any(row.get(key) for _, row in self.import_rows(base_dir).rows for key in RELATING)

    def read(self, ref: RowRef) -> Task:
        """Return one row, checked in full.

        Raises:
            DatasetError: with file, line, key, value and what is allowed.
        """
        here = self.model_copy(update={"path": ref.path})  # an absolute path wins over any folder
        rows = here.import_rows(ref.path.parent).rows
        where = f"{format_path(ref.path)}:{ref.line}"
        if ref.offset >= len(rows) or rows[ref.offset][1]["query_id"] != ref.query_id:
            raise changed_file(where, ref.query_id)
        return to_task(rows[ref.offset][1], where)

    def notes(self, base_dir: Path) -> tuple[str, ...]:
        """Return which rows were dropped, and why."""
        by_reason: dict[str, list[str]] = {}
        for query_id, reason in self.import_rows(base_dir).dropped:
            by_reason.setdefault(reason, []).append(query_id)
        return tuple(
            f"{self.title}: {format_count(len(ids), 'row')} left out ({reason}): {', '.join(ids[:3])}"
            + ", ..." * (len(ids) > 3)
            for reason, ids in by_reason.items()
        )

    def _row(self, original: Any) -> dict[str, Any]:
        row = self.convert(original)
        metadata = {"source": original, **row.pop("metadata", {})}
        row = {"dataset": self.title.lower(), **row, "metadata": metadata}
        return {**row, "graders": list(self.graders)} if self.graders else row


@dataclass(frozen=True)
class _Key:
    block: str
    member: type[BenchmarkConfig]
    config: BenchmarkConfig = field(compare=False)


@cache_for_session(maxsize=64)
def _import_file(key: _Key, state: State) -> Imported:
    del state
    config, path = key.config, key.config.path
    rows: list[tuple[int, dict[str, Any]]] = []
    dropped: list[tuple[str, str]] = []
    problems: list[str] = []
    for line, original in config.originals(path):
        try:
            rows.append((line, config._row(original)))  # noqa: SLF001 one class in two places
        except RowProblem as error:
            problems.append(f"{format_path(path)}:{line}: {error}")
        except RecursionError:
            problems.append(f"{format_path(path)}:{line}: the row is nested too deeply.")
        except Dropped as reason:
            dropped.append((_name_of(original), str(reason)))
    if problems:
        refuse(problems)
    listed = Ids(path, "query_id")
    for place, (line, row) in enumerate(rows):
        listed.add_row(row, line, place)
    return Imported(tuple(rows), tuple(dropped), tuple(listed.finish()))


def _name_of(original: Any) -> str:
    row = original if isinstance(original, Mapping) else {}
    return str(next((row[key] for key in ("id", "task_id", "ID") if key in row), "?"))


# -- what members use


def text_of(row: Any, key: str, *, default: str | None = None) -> str:
    """Return a text of an original row; numbers, as some files write ids, become texts.

    Raises:
        RowProblem: the row has no such key, or something else there.
    """
    if not isinstance(row, Mapping):
        raise RowProblem(f"a row is a block of keys, not {kind_of(row)}.")
    value = row.get(key, default)
    if value is None or value == "":
        if default is not None:
            return default
        raise RowProblem(
            f"there is no {key!r}; the benchmark's rows have one. Keys: {', '.join(map(str, row))}."
        )
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise RowProblem(f"{key}: expected a text, not {kind_of(value)}.")
    return str(value)


def kind_of(value: Any) -> str:
    """Return what a JSON value is, without the value itself: it may be an answer that is not to be told."""
    names = {bool: "true or false", int: "a number", float: "a number", str: "a text", list: "a list"}
    return "null" if value is None else names.get(type(value), "a block")


def read_rows(path: Path) -> list[Row]:
    """Return the rows of a JSON, JSON Lines, CSV or TSV file with their lines.

    Raises:
        DocumentError: the file cannot be read.
    """
    suffix = path.suffix.lower()
    readers: dict[str, Callable[[str], list[Row]]] = {
        ".json": _json,
        ".jsonl": _json_lines,
        ".ndjson": _json_lines,
        ".csv": lambda text: [*read_table(text, ",")[1]],
        ".tsv": lambda text: [*read_table(text, "\t")[1]],
    }
    if suffix not in readers:
        raise DocumentError(f"the suffix {suffix!r} names no format. Known: {', '.join(readers)}.")
    return readers[suffix](read_text(path))


def _json(text: str) -> list[Row]:
    document = parse(text, ".json")
    if not isinstance(document.value, list):
        raise DocumentError("expected a list of rows.", 1)
    return [(document.line_of((place,)) or 1, row) for place, row in enumerate(document.value)]


def _json_lines(text: str) -> list[Row]:
    rows: list[Row] = []
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            try:
                rows.append((number, json_value(line)))
            except DocumentError as error:
                raise DocumentError(str(error), number) from None
    return rows
