"""Reads the tasks of many rows at once."""

from __future__ import annotations

from collections.abc import Iterable

from pytest_browsereval.datasets.base import DatasetConfig, RowRef
from pytest_browsereval.datasets.reader import read_row
from pytest_browsereval.datasets.rows import refuse
from pytest_browsereval.errors import DatasetError
from pytest_browsereval.model.tasks import Task


def read_all(rows: Iterable[tuple[DatasetConfig, RowRef]]) -> list[Task]:
    """Return the tasks of many rows.

    Raises:
        DatasetError: some are wrong; the message lists the first five problems and counts the rest.
    """
    tasks: list[Task] = []
    problems: list[str] = []
    for dataset, ref in rows:
        try:
            tasks.append(read_row(dataset, ref))
        except DatasetError as error:
            problems += str(error).splitlines()
    if problems:
        refuse(problems)
    return tasks
