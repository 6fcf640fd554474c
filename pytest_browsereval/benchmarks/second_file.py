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
from pytest_browsereval.features.shared.row_source import State, state_of
from pytest_browsereval.session_caches import cache_for_session


class TwoFilesConfig(BenchmarkConfig):
    """An importer with an option for a second file, relative to the eval config."""

    second: ClassVar[str] = ""
    """The name of the option."""

    _base_dir: Path | None = PrivateAttr(default=None)
    _found: dict[int, tuple[list[Any], dict[str, list[int]]]] = PrivateAttr(default_factory=dict)

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

    def places(self, blocks: list[Any], block_id: str) -> Sequence[int]:
        """Return the places of the blocks with that ``id`` in a list of the second file."""
        if id(blocks) not in self._found:
            by_id: dict[str, list[int]] = {}
            for place, block in enumerate(blocks):
                if isinstance(block, Mapping):
                    by_id.setdefault(str(block.get("id")), []).append(place)
            # Keeps the list alive as well: another list could get the same `id`.
            self._found[id(blocks)] = blocks, by_id
        return self._found[id(blocks)][1].get(block_id, ())

    def document(self) -> Document | None:
        """Return the second file, whose path is absolute here; None if the block names none.

        Raises:
            DatasetError: it cannot be read.
        """
        path: Path | None = getattr(self, self.second)
        if path is None:
            return None
        with refuse_unreadable(path):
            return _parse_file(path, state_of(path))


@cache_for_session(maxsize=4)
def _parse_file(path: Path, state: State) -> Document:
    del state
    return parse(read_text(path), path.suffix)
