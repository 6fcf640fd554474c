"""Base of the importers for benchmarks in two files: the rows, and what belongs to them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from pydantic import PrivateAttr

from pytest_browsereval.benchmarks.base import BenchmarkConfig, Imported
from pytest_browsereval.config_text import Document, parse, read_text
from pytest_browsereval.datasets.base import RowRef
from pytest_browsereval.datasets.rows import refuse_unreadable
from pytest_browsereval.features.shared.row_source import Row


class TwoFilesConfig(BenchmarkConfig):
    """An importer with an option for a second file, relative to the eval config."""

    second: ClassVar[str] = ""
    """The name of the option."""

    _base_dir: Path | None = PrivateAttr(default=None)
    _document: Document | None = PrivateAttr(default=None)

    def import_rows(self, base_dir: Path) -> Imported:
        """Return all rows of the file.

        Raises:
            DatasetError: a file cannot be read, or has rows without the benchmark's shape.
        """
        # `read` passes the folder of the rows, which need not be that of the config.
        given: Path | None = getattr(self, self.second)
        path = None if given is None else ((self._base_dir or base_dir) / given).absolute()
        return super(TwoFilesConfig, self.model_copy(update={self.second: path})).import_rows(base_dir)

    def index(self, base_dir: Path, ids: Collection[str] | None = None) -> Sequence[RowRef]:
        """Return the selected rows, in file order."""
        self._base_dir = base_dir
        return super().index(base_dir, ids)

    def originals(self, path: Path) -> Sequence[Row]:
        """Return the rows of the first file, once the second one is read.

        Raises:
            DatasetError: the second file cannot be read.
            DocumentError: the first one cannot be read.
        """
        second: Path | None = getattr(self, self.second)
        if second is not None:
            with refuse_unreadable(second):
                self._document = parse(read_text(second), second.suffix)
        return super().originals(path)


def find_blocks(blocks: list[Any], block_id: str) -> list[Mapping[str, Any]]:
    """Return the blocks with that ``id`` in a list of the second file."""
    return [one for one in blocks if isinstance(one, Mapping) and str(one.get("id")) == block_id]
