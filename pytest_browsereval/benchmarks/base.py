"""Base of the importers: turn the file of a published benchmark into rows."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from pydantic import JsonValue

from pytest_browsereval.config_text import DocumentError, format_path, parse, read_text
from pytest_browsereval.config_text.json_text import json_value
from pytest_browsereval.datasets.base import DatasetConfig, RowRef
from pytest_browsereval.datasets.rows import (
    RELATING,
    RowIndex,
    changed_file,
    refuse,
    refuse_unreadable,
    to_task,
)
from pytest_browsereval.datasets.selection import select_rows
from pytest_browsereval.features.shared.row_source import Block, Row, State, read_table, state_of
from pytest_browsereval.model.display import format_count
from pytest_browsereval.model.tasks import Task
from pytest_browsereval.session_caches import cache_for_session

T = TypeVar("T")


class RowProblem(Exception):
    """A row does not have the benchmark's shape; the message comes without file and line."""


class Dropped(Exception):
    """A row is left out on purpose, an infeasible task for example; the message is the reason."""


@dataclass(frozen=True)
class Imported:
    """The rows of a benchmark's file, and those that were left out."""

    rows: tuple[tuple[int, dict[str, Any]], ...]
    """Lines, and rows with the keys of a task."""
    dropped: tuple[tuple[str, str], ...] = ()
    """Ids and reasons."""
    refs: tuple[RowRef, ...] = ()
    """Where each row is."""


class BenchmarkConfig(DatasetConfig):
    """Base of the importers.

    A member converts one original row in ``convert``; order and ids follow from the file alone. Its
    ``title`` in lower case is also the ``dataset`` of its rows.
    """

    selects: ClassVar[bool] = True

    graders: tuple[str | dict[str, JsonValue], ...] = ()
    """Graders of the rows, instead of those of the benchmark."""

    @property
    def own_graders(self) -> Sequence[str | dict[str, JsonValue]]:
        """Graders that this block gives to its rows."""
        return self.graders

    @abstractmethod
    def convert(self, original: Any) -> dict[str, Any]:
        """Return an original row with the keys of a task; the base adds the rest.

        ``metadata.source`` is the original and ``metadata.original_task_id`` the id, unless the row has
        others. What is None or an empty text is left out, and so are tags that are.

        Raises:
            RowProblem: it does not have the benchmark's shape.
            Dropped: it cannot be run.
        """
        raise NotImplementedError

    def originals(self, path: Path) -> Sequence[Row]:
        """Return the original rows of a file, by its suffix: JSON, JSON Lines, CSV or TSV.

        Raises:
            DocumentError: the file cannot be read in that format.
        """
        return read_rows(path)

    def import_rows(self, base_dir: Path) -> Imported:
        """Return all rows of the file.

        Raises:
            DatasetError: it cannot be read, is empty, or has rows without the benchmark's shape.
        """
        path = self.file(base_dir)
        with refuse_unreadable(path):
            config = self.model_copy(update={"path": path})
            return _import_file(Block.of(config), state_of(path))

    def index(self, base_dir: Path, ids: Collection[str] | None = None) -> Sequence[RowRef]:
        """Return the selected rows, in file order.

        Args:
            base_dir: the folder of the eval config.
            ids: if given, only the rows with these ids.

        Raises:
            DatasetError: the file cannot be used.
        """
        path, imported = self.file(base_dir), self.import_rows(base_dir)
        rows, refs = imported.rows, list(imported.refs)
        return select_rows(refs, self.select, lambda ref: rows[ref.offset][1], path, ids)

    def relates(self, base_dir: Path) -> bool:
        """Return True if a row depends on others or shares the state of sites.

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

    def list_dropped(self, base_dir: Path) -> tuple[tuple[str, str], ...]:
        """Return the rows that have no task, each with the reason."""
        return self.import_rows(base_dir).dropped

    def notes(self, base_dir: Path) -> tuple[str, ...]:
        """Return how many rows were left out, and why."""
        by_reason: dict[str, list[str]] = {}
        for query_id, reason in self.list_dropped(base_dir):
            by_reason.setdefault(reason, []).append(query_id)
        left_out = (
            f"{self.title}: {format_count(len(ids), 'row')} left out ({reason}): {list_first(ids)}"
            for reason, ids in by_reason.items()
        )
        return *left_out, *self.list_notes([row for _, row in self.import_rows(base_dir).rows])

    def list_notes(self, rows: list[dict[str, Any]]) -> list[str]:
        """Return what else to know of the file's rows before they are run."""
        del rows
        return []


@cache_for_session(maxsize=64)
def _import_file(key: Block, state: State) -> Imported:
    del state
    config: BenchmarkConfig = key.config
    path = config.path
    rows: list[tuple[int, dict[str, Any]]] = []
    dropped: list[tuple[str, str]] = []
    problems: list[str] = []
    for line, original in config.originals(path):
        try:
            rows.append((line, _complete(config, config.convert(original), original)))
        except RowProblem as error:
            problems.append(f"{format_path(path)}:{line}: {error}")
        except RecursionError:
            problems.append(f"{format_path(path)}:{line}: the row is nested too deeply.")
        except Dropped as reason:
            block = original if isinstance(original, Mapping) else {}
            query_id = next((block[key] for key in ("id", "task_id", "ID") if key in block), "?")
            dropped.append((str(query_id), str(reason)))
    if problems:
        refuse(problems)
    listed = RowIndex(path, "query_id")
    for place, (line, row) in enumerate(rows):
        listed.add_row(row, line, place)
    return Imported(tuple(rows), tuple(dropped), tuple(listed.finish()))


def _complete(config: BenchmarkConfig, row: dict[str, Any], original: Any) -> dict[str, Any]:
    """Return a converted row with what is alike in all, and without what it does not know."""
    given: dict[str, Any] = {"original_task_id": row["query_id"], "source": original, **row["metadata"]}
    additional = _known(given.get("additional", {}))
    tags = list(dict.fromkeys(filter(None, row.get("tags", ()))))
    graders = list(config.graders) or row.get("graders", [])
    metadata = {**_known(given), "additional": additional}
    return _known(
        {"dataset": config.title.lower(), **row, "tags": tags, "graders": graders, "metadata": metadata}
    )


def list_first(ids: Sequence[str]) -> str:
    """Return the first three of some ids, as a text."""
    return ", ".join(ids[:3]) + (", ..." if len(ids) > 3 else "")


def _known(block: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in block.items() if value is not None and value != ""}


# -- what members use


def text_of(row: Any, key: str, *, default: str | None = None) -> str:
    """Return a text of an original row; a number, as some files write ids, becomes a text.

    Raises:
        RowProblem: the key is missing, or its value is something else.
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
        raise RowProblem(f"{key}: expected a string, not {kind_of(value)}.")
    return str(value)


def list_of(row: Mapping[str, Any], key: str, kind: type[T]) -> list[T]:
    """Return a list of texts or blocks of an original row; an empty one where the row has none.

    Raises:
        RowProblem: it is something else.
    """
    value = row.get(key) or []
    if not isinstance(value, list) or not all(isinstance(one, kind) for one in value):
        raise RowProblem(f"{key}: expected a list of {'strings' if kind is str else 'blocks'}.")
    return value


def kind_of(value: Any) -> str:
    """Return what a JSON value is."""
    # Not the value itself: it may be a reference answer, which no log may have.
    names = {bool: "true or false", int: "a number", float: "a number", str: "a string", list: "a list"}
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
