"""Read rows of any dataset, and name the plug-in that breaks."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import cast

from pytest_browsereval.contracts import check_result, describe_member, describe_wrong, naming
from pytest_browsereval.datasets.base import DatasetConfig, RowRef, Select
from pytest_browsereval.datasets.files import add_hashes
from pytest_browsereval.datasets.selection import select_rows
from pytest_browsereval.errors import PluginError
from pytest_browsereval.model.tasks import Task


def index_rows(
    dataset: DatasetConfig, base_dir: Path, ids: Collection[str] | None = None
) -> Sequence[RowRef]:
    """Return the rows that a dataset's block selects, in file order.

    Args:
        dataset: the block.
        base_dir: the folder of the eval config.
        ids: if given, rows with other ids may be left out.

    Raises:
        DatasetError: the rows cannot be used, or the selection names something unknown.
        PluginError: the dataset raises another error or returns a wrong value.
    """
    if dataset.selects or dataset.select == Select():
        return _index(dataset, base_dir, ids)
    # All rows, as a sample of the named ones would be another sample.
    refs = list(_index(dataset, base_dir, None))
    with naming(dataset, "file"):
        path = dataset.file(base_dir)
    return select_rows(refs, dataset.select, lambda ref: read_row(dataset, ref).model_dump(), path, ids)


def _index(dataset: DatasetConfig, base_dir: Path, ids: Collection[str] | None) -> Sequence[RowRef]:
    with naming(dataset, "index"):
        found: object = dataset.index(base_dir, ids)
        is_list = isinstance(found, Iterable) and not isinstance(found, str | dict)
        refs = found if isinstance(found, list | tuple) else list(found) if is_list else [found]  # type: ignore[call-overload]
    for ref in refs:
        if not isinstance(ref, RowRef):
            message = describe_wrong(
                "index", ref, "a RowRef" if is_list else "a list of RowRef", dataset.index
            )
            raise PluginError(f"{describe_member(dataset)}: {message}")
    return cast("Sequence[RowRef]", refs)


def read_row(dataset: DatasetConfig, ref: RowRef) -> Task:
    """Return one row of a dataset, checked in full.

    Raises:
        DatasetError: the row is wrong; the message has file, line, key, value and what is allowed.
        PluginError: the dataset raises another error or returns a wrong value, another row for example.
    """
    with naming(dataset, "read"):
        found = dataset.read(ref)
    task = check_result(dataset, "read", found, Task, "a Task")
    if task.query_id != ref.query_id:
        raise PluginError(
            f"{describe_member(dataset)}: `read` returned the row {task.query_id!r} for {ref.query_id!r}, "
            "which `index` has listed. A row has one id; fix the plug-in."
        )
    return add_hashes(task, ref)
