"""What all formats share: rows become tasks, and ids are unique."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar, NoReturn

from pydantic import Field, ValidationError, field_validator

from pytest_browsereval.config_text import DocumentError, format_path, unreadable
from pytest_browsereval.datasets.base import DatasetConfig, RowRef
from pytest_browsereval.errors import DatasetError, nearest
from pytest_browsereval.foreign_names import JSON
from pytest_browsereval.model.tasks import RowMetadata, Task
from pytest_browsereval.session_caches import cache_for_session
from pytest_browsereval.validation_errors import list_problems, shorten

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

ANSWER_KEYS = ("answer", "ground_truth")
"""Where rows of BrowserOS have the reference answer, inside of ``metadata.additional``."""

GOLD_KEYS = (*ANSWER_KEYS, "precomputed_rubric")
"""Keys of ``metadata.additional`` that say how a row is judged."""

RELATING = ("depends_on", "sites", "requires_reset")
"""Keys by which a row has to do with other rows."""

ROW_KEYS = frozenset(Task.model_fields) | {f"metadata.{name}" for name in RowMetadata.model_fields}
"""What a column may be named after."""


class RowFile(DatasetConfig):
    """Base of the members that read rows from a file."""

    selects: ClassVar[bool] = True

    columns: dict[str, str] = Field(default_factory=dict)
    """The column of the file for each key of a row, such as ``{query_id: ID, query: Task}``; keys of the
    metadata are written ``metadata.category``. All other columns then go to ``metadata.additional``."""

    @field_validator("columns")
    @classmethod
    def _are_keys_of_a_row(cls, value: dict[str, str]) -> dict[str, str]:
        for key in value:
            if key not in ROW_KEYS:
                keys = ", ".join(sorted(ROW_KEYS))
                raise ValueError(f"{key!r} is not a key of a row.{nearest(key, ROW_KEYS)} Keys: {keys}.")
        return value

    def relates(self, base_dir: Path) -> bool:
        """Return True if the file has one of the keys by which rows depend on others or share sites."""
        # The bytes are searched and not parsed: a false alarm costs time, and never a wrong result.
        quote = '"' if self.type in ("jsonl", "json") else ""
        names = [f"{quote}{self.columns.get(key, key)}{quote}".encode() for key in RELATING]
        try:
            with self.file(base_dir).open("rb") as file:
                return any(name in line for line in file for name in names)
        except OSError:
            return False  # `index` reports it

    @property
    def id_column(self) -> str:
        """The column that holds the ids."""
        return self.columns.get("query_id", "query_id")

    def task(self, row: Any, ref: RowRef) -> Task:
        """Return a row that was read again as a task.

        Raises:
            DatasetError: it is wrong, or it is not the row that was collected.
        """
        where = f"{_format_path(ref.path, Path.cwd())}:{ref.line}"
        if not isinstance(row, dict) or row.get(self.id_column) != ref.query_id:
            raise changed_file(where, ref.query_id)
        return to_task(with_answer(self.map_columns(row)), where)

    def map_columns(self, row: dict[str, Any]) -> dict[str, Any]:
        """Return a row of the file with the keys of a task."""
        return rename_columns(row, self.columns) if self.columns else row


# -- one row


@cache_for_session(maxsize=16)
def _format_path(path: Path, _folder: Path) -> str:
    """Return what messages call a file while that is the working directory."""
    # `Path.resolve` asks the disk for each part, and a file of 10,000 rows is named 10,000 times.
    return format_path(path)


def changed_file(where: str, query_id: str) -> DatasetError:
    """Return the error for a row that stood in a file and does not any more."""
    message = f"{where}: the row {query_id!r} is no longer here: the file was changed during the run."
    return DatasetError(f"{message} Start the run again.")


def to_task(row: Mapping[str, Any], where: str) -> Task:
    """Return a row as a task.

    Args:
        row: the keys and values of a task.
        where: file and line, for messages.

    Raises:
        DatasetError: keys are unknown or missing, or values are wrong; one line for each.
    """
    try:
        return Task.model_validate(row)
    except ValidationError as error:
        problems = list_problems(error, Task, row, hide=bool(row.get("protected")), notation=JSON)
        raise DatasetError("\n".join(f"{where}: {p.where}: {p.message}" for p in problems)) from None


def with_answer(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row with its reference answer as ``answer``, also if BrowserOS has written the row."""
    metadata = row.get("metadata")
    additional = metadata.get("additional") if isinstance(metadata, dict) else None
    if row.get("answer") is not None or not isinstance(additional, dict):
        return row
    answer = next((additional[key] for key in ANSWER_KEYS if additional.get(key) is not None), None)
    return row if answer is None else {**row, "answer": answer}


def rename_columns(row: Mapping[str, Any], columns: Mapping[str, str]) -> dict[str, Any]:
    """Return a row with the keys of a task; columns without a name go to ``metadata.additional``."""
    keys_of: dict[str, list[str]] = {}
    for key, column in columns.items():
        keys_of.setdefault(column, []).append(key)
    result: dict[str, Any] = {}
    inner: list[tuple[str, Any]] = []
    for column, value in row.items():
        own = column if column in ROW_KEYS and column not in columns else f"{ADDITIONAL}.{column}"
        for key in keys_of.get(column, [own]):
            if "." in key:
                inner.append((key, value))
            else:
                result[key] = value
    for key, value in inner:
        _put_inside(result, key.split(".", 2), value)
    return result


def _put_inside(row: dict[str, Any], path: list[str], value: Any) -> None:
    block = row
    for name in path[:-1]:
        block = block.setdefault(name, {})
        if not isinstance(block, dict):
            return  # validation reports the wrong value
    block[path[-1]] = value


# -- all rows of a file


class RowIndex:
    """Collect the rows of a file, and what is wrong with their ids.

    Args:
        path: the file.
        id_column: the column with the ids.
        ids: if given, only rows with these ids; problems of other rows are ignored.
    """

    def __init__(self, path: Path, id_column: str, ids: Collection[str] | None = None) -> None:
        self.path = path
        self._column = id_column
        self._ids = None if ids is None else frozenset(ids)
        self._refs: dict[str, RowRef] = {}
        self._problems: list[str] = []

    def add(self, query_id: str, line: int, offset: int, length: int = 0) -> None:
        """Add a row whose id is a text."""
        if self._ids is not None and query_id not in self._ids:
            return
        ref = RowRef(query_id, self.path, line, offset, length)
        first = self._refs.setdefault(query_id, ref)
        if first is not ref:
            message = f"the id {query_id!r} is also in line {first.line}. Ids must differ; rename one."
            self._problems.append(f"{format_path(self.path)}:{line}: {message}")
        elif not query_id:
            self.report(line, f"{self._column} is empty. Give every row an id.")

    def add_row(self, row: object, line: int, offset: int, length: int = 0) -> None:
        """Add a row that was parsed."""
        name = self._column
        if not isinstance(row, dict):
            self.report(line, f"a row is a block of keys, not {shorten(row)}.")
        elif name not in row:
            hint = nearest(name, {str(key) for key in row} - ROW_KEYS)
            self.report(line, f"the row has no {name!r}.{hint} Give every row an id.")
        elif not isinstance(row[name], str):
            self.report(line, f"{name}: expected a string, not {shorten(row[name])}; put it in quotes.")
        else:
            self.add(row[name], line, offset, length)

    def report(self, line: int, message: str) -> None:
        """Note a problem of a line that has no usable id."""
        if self._ids is None:
            self._problems.append(f"{format_path(self.path)}:{line}: {message}")

    @property
    def is_complete(self) -> bool:
        """True if every wanted id was found."""
        return self._ids is not None and self._ids <= self._refs.keys()

    def finish(self) -> list[RowRef]:
        """Return the rows.

        Raises:
            DatasetError: there is a problem, or no row.
        """
        if self._problems:
            refuse(self._problems)
        if not self._refs:
            raise DatasetError(
                f"{format_path(self.path)}: the file has no rows. Write one task per line or entry."
            )
        return list(self._refs.values())


@contextmanager
def refuse_unreadable(path: Path) -> Iterator[None]:
    """Turn errors of reading a file into errors that name it.

    Raises:
        DatasetError: the file cannot be read.
    """
    try:
        yield
    except OSError as error:
        raise DatasetError(f"{format_path(path)}: {unreadable(path, error)}") from None
    except DocumentError as error:
        raise DatasetError(error.locate(format_path(path))) from None


def refuse(problems: Sequence[str]) -> NoReturn:
    """Raise one error for all problems: it lists the first five and counts the rest.

    Raises:
        DatasetError: always.
    """
    more = f"\nand {len(problems) - SHOWN} more" if len(problems) > SHOWN else ""
    raise DatasetError("\n".join(problems[:SHOWN]) + more, problems)
