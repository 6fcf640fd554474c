"""What a dataset is: it lists the ids of its rows cheaply and reads one row in full on demand."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from pydantic import BaseModel, ConfigDict, Field

from pytest_browsereval.model.tasks import Task
from pytest_browsereval.registry import Component


class Select(BaseModel):
    """Which rows of a dataset to take, applied in this order: ids, tags, sample, limit."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    ids: tuple[str, ...] = ()
    """Only these ids, in file order; one that is not there is an error."""
    tags: tuple[str, ...] = ()
    """Only rows with at least one of these tags."""
    limit: int | None = Field(default=None, ge=1)
    """The first so many."""
    sample: int | None = Field(default=None, ge=1)
    """So many, drawn with ``seed``, kept in file order."""
    seed: int = 0
    """The same seed draws the same rows on every machine."""


@dataclass(frozen=True, slots=True)
class RowRef:
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

    path: Path
    """The file; relative to the eval config."""
    select: Select = Select()

    @abstractmethod
    def index(self, base_dir: Path, ids: Collection[str] | None = None) -> Sequence[RowRef]:
        """Return the selected rows, in file order, parsing no more of each than its id.

        Args:
            base_dir: the folder of the eval config.
            ids: where only these are wanted, the others may be left out.

        Raises:
            DatasetError: the file is missing, unreadable or empty, a row has no id, ids clash.
        """
        raise NotImplementedError

    @abstractmethod
    def read(self, ref: RowRef) -> Task:
        """Return one row, checked in full.

        Raises:
            DatasetError: the row is wrong; the message has file, line, key, value and what is allowed.
        """
        raise NotImplementedError
