"""Base of datasets: list the ids of rows cheaply, read one row on demand."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Self

from pydantic import BaseModel, ConfigDict, Field, JsonValue, model_validator

from pytest_browsereval.model.derived import Derived
from pytest_browsereval.model.tasks import Task
from pytest_browsereval.registry import Component


class Select(BaseModel):
    """Which rows of a dataset to use, applied in this order: ids, tags, sample, limit."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    ids: tuple[str, ...] = ()
    """Only these ids, in file order; an unknown id is an error."""
    tags: tuple[str, ...] = ()
    """Only rows with at least one of these tags."""
    limit: int | None = Field(default=None, ge=1)
    """Only the first N rows."""
    sample: int | None = Field(default=None, ge=1)
    """N rows drawn with ``seed``, in file order."""
    by: str | None = Field(default=None, pattern=r"^(level|category|website|dataset|tag|additional\..+)$")
    """Stratify the sample by this key, so that each group keeps its share of the file: ``level``,
    ``category``, ``website``, ``dataset``, ``tag`` (the first of a row) or ``additional.KEY`` of the
    metadata."""
    seed: int = 0
    """The same seed draws the same rows on every machine."""

    @model_validator(mode="after")
    def _groups_are_of_a_sample(self) -> Self:
        if self.by is not None and self.sample is None:
            raise ValueError(
                f"`by: {self.by}` says how a sample is drawn, but there is no sample. Add `sample: N`."
            )
        return self


class RowRef(NamedTuple):
    """Where a row is: enough to make an item of it without parsing the row."""

    # A named tuple and not a dataclass: collecting 100,000 rows makes 100,000 of these.

    query_id: str
    path: Path
    line: int
    """The line that the row begins at, from 1; 0 where the format has no lines."""
    offset: int
    """Where to read it again: a byte offset (JSON Lines) or a row index (other formats)."""
    length: int = 0


class DatasetConfig(Component):
    """Base of the dataset family's members."""

    family: ClassVar[str] = "dataset"

    selects: ClassVar[bool] = False
    """True if ``index`` applies ``select`` itself, because it finds the rows without reading each of them.
    Otherwise ``index`` returns all rows, and the run selects."""

    title: ClassVar[str] = ""
    """The name of the published benchmark that the rows are from, for messages; empty for others."""

    path: Path
    """The file; relative to the eval config."""
    select: Select = Select()
    """Which rows to use; all by default."""
    trusted: bool = Field(default=False, exclude=True)
    """True lets graders of the rows start programs, and ask models and addresses of their own, and solutions
    type ``variables``. Otherwise such a row is refused, because rows often come from elsewhere: read them
    before you trust them."""

    @property
    def own_graders(self) -> Sequence[str | dict[str, JsonValue]]:
        """Graders that this block gives to its rows; they need no trust, as they are in the config."""
        return ()

    def file(self, base_dir: Path) -> Path:
        """Return the absolute path of the file or folder that the rows are in.

        Raises:
            DatasetError: it belongs to a package that is not installed.
        """
        return (base_dir / self.path).absolute()

    @abstractmethod
    def index(self, base_dir: Path, ids: Collection[str] | None = None) -> Sequence[RowRef]:
        """Return the rows, in file order, parsing no more of each than its id.

        Args:
            base_dir: the folder of the eval config.
            ids: if given, rows with other ids may be left out.

        Raises:
            DatasetError: the file is missing, unreadable or empty, a row has no id, ids clash.
        """
        raise NotImplementedError

    def notes(self, base_dir: Path) -> tuple[str, ...]:
        """Return notes for the run's header: how many rows were left out, and why.

        Raises:
            DatasetError: the file cannot be read.
        """
        return ()

    def list_dropped(self, base_dir: Path) -> tuple[tuple[str, str], ...]:
        """Return the ids of rows that were left out on purpose, with the reasons.

        Raises:
            DatasetError: the file cannot be read.
        """
        return ()

    def relates(self, base_dir: Path) -> bool:
        """Return True if rows may depend on others or share the state of sites.

        Collecting reads the rows of a dataset in full only if this is true, so True is the safe answer.
        """
        return True

    def find_derived(self, query_id: str) -> Derived | None:
        """Return what a row was derived from; the rows of a dataset that a config names are plain."""
        return None

    def added_graders(self, task: Task) -> Sequence[Any]:
        """Return graders that are always asked, no matter which graders config and row have."""
        return ()

    @abstractmethod
    def read(self, ref: RowRef) -> Task:
        """Return one row, checked in full.

        Raises:
            DatasetError: the row is wrong; the message has file, line, key, value and what is allowed.
        """
        raise NotImplementedError
