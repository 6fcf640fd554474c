"""Base of datasets: a dataset lists the ids of its rows cheaply and reads one row on demand."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import ClassVar, NamedTuple, Self

from pydantic import BaseModel, ConfigDict, Field, JsonValue, model_validator

from pytest_browsereval.model.tasks import Task
from pytest_browsereval.registry import Component


class Select(BaseModel):
    """Which rows of a dataset to take, applied in this order: ids, tags, sample, limit."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    ids: tuple[str, ...] = ()
    """Only these ids, in file order; one that is not there is an error."""
    tags: tuple[str, ...] = ()
    """Only rows with at least one of these tags."""
    limit: int | None = Field(default=None, ge=1)
    """The first so many."""
    sample: int | None = Field(default=None, ge=1)
    """So many, drawn with ``seed``, kept in file order."""
    by: str | None = Field(default=None, pattern=r"^(level|category|website|dataset|tag|additional\..+)$")
    """The sample has as large a part of each group as the file: ``level``, ``category``, ``website``,
    ``dataset``, ``tag`` (the first of a row) or ``additional.KEY`` of the metadata."""
    seed: int = 0
    """The same seed draws the same rows on every machine."""

    @model_validator(mode="after")
    def _groups_are_of_a_sample(self) -> Self:
        if self.by is not None and self.sample is None:
            raise ValueError(
                f"`by: {self.by}` says how a sample is drawn, and there is none. Add  sample: N."
            )
        return self


class RowRef(NamedTuple):
    """Where a row is; enough to make an item of it without parsing the row."""

    query_id: str
    path: Path
    line: int
    """From 1; the line that the row begins at, 0 where the format has no lines."""
    offset: int
    """Where to read it again: a byte offset (JSON Lines) or a row index (other formats)."""
    length: int = 0


class DatasetConfig(Component):
    """Base of the dataset family's members."""

    family: ClassVar[str] = "dataset"

    selects: ClassVar[bool] = False
    """True: ``index`` takes the rows of ``select`` itself, because it can find them without reading each row.
    Else it returns all rows, and the run selects."""

    path: Path
    """The file; relative to the eval config."""
    select: Select = Select()
    trusted: bool = Field(default=False, exclude=True)
    """True: the rows were read, and their graders may start programs, ask models of their own and any
    address. Without it such a row is refused, as rows often come from elsewhere."""

    @property
    def own_graders(self) -> Sequence[str | dict[str, JsonValue]]:
        """Graders of the rows that stand in the config, in this block: they need no trust."""
        return ()

    def file(self, base_dir: Path) -> Path:
        """Return the absolute path of the file or folder that the rows are in.

        Raises:
            DatasetError: it is that of a package, which is not installed.
        """
        return (base_dir / self.path).absolute()

    @abstractmethod
    def index(self, base_dir: Path, ids: Collection[str] | None = None) -> Sequence[RowRef]:
        """Return the rows, in file order, parsing no more of each than its id.

        Args:
            base_dir: the folder of the eval config.
            ids: where only these are wanted, the others may be left out.

        Raises:
            DatasetError: the file is missing, unreadable or empty, a row has no id, ids clash.
        """
        raise NotImplementedError

    def notes(self, base_dir: Path) -> tuple[str, ...]:
        """Return what a reader of the run should know of the rows: how many were left out, and why.

        Raises:
            DatasetError: the file cannot be read.
        """
        del base_dir
        return ()

    def relates(self, base_dir: Path) -> bool:
        """Whether rows may depend on others or share the state of sites; in doubt, they may.

        Looked at while collecting: a dataset that says no is not read any further then.
        """
        del base_dir
        return True

    @abstractmethod
    def read(self, ref: RowRef) -> Task:
        """Return one row, checked in full.

        Raises:
            DatasetError: the row is wrong; the message has file, line, key, value and what is allowed.
        """
        raise NotImplementedError
