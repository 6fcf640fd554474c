"""Selection of rows by ids, tags, limit and sample."""

from __future__ import annotations

import heapq
import random
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import Any

from pytest_browsereval.config_text import format_path
from pytest_browsereval.datasets.base import RowRef, Select
from pytest_browsereval.datasets.rows import refuse
from pytest_browsereval.errors import DatasetError, nearest
from pytest_browsereval.model.display import join_first, one_line
from pytest_browsereval.model.tasks import Task

RowOf = Callable[[RowRef], Mapping[str, Any]]
"""Returns a row with the keys of a task; its values need not be valid."""


def select_rows(
    refs: list[RowRef], select: Select, row_of: RowOf, path: Path, ids: Collection[str] | None = None
) -> list[RowRef]:
    """Return the rows that a selection names, in file order: by ids, tags, sample, limit.

    Args:
        refs: all rows of the file.
        select: which rows to return.
        row_of: returns a row; called only for tags and groups, as reading all rows is slow.
        path: the file, for messages.
        ids: if given, only these of the selected rows are returned.

    Raises:
        DatasetError: an id is not in the file, no row has one of the tags, or no row has a group.
    """
    if select.ids:
        refs = _with_ids(refs, select.ids, path)
    if select.tags:
        refs = _with_tags(refs, select.tags, row_of, path)
    if select.sample is not None and select.sample < len(refs):
        groups = [""] * len(refs) if select.by is None else _groups(refs, select.by, row_of, path)
        refs = [refs[place] for place in _draw_sample(groups, select.sample, select.seed)]
    refs = refs[: select.limit]
    return refs if ids is None else _keep_ids(refs, ids)


def _with_ids(refs: list[RowRef], ids: Sequence[str], path: Path) -> list[RowRef]:
    known = {ref.query_id for ref in refs}
    if missing := [query_id for query_id in ids if query_id not in known]:
        where, some = format_path(path), join_first([one_line(ref.query_id, 60) for ref in refs], 3)
        refuse(
            [f"{where}: select.ids: no row {i!r}.{nearest(i, known) or f' Ids: {some}.'}" for i in missing]
        )
    return _keep_ids(refs, ids)


def _keep_ids(refs: list[RowRef], ids: Collection[str]) -> list[RowRef]:
    wanted = set(ids)
    return [ref for ref in refs if ref.query_id in wanted]


def _with_tags(refs: list[RowRef], tags: Sequence[str], row_of: RowOf, path: Path) -> list[RowRef]:
    wanted, seen, kept = set(tags), set[str](), []
    for ref in refs:
        own = set(_tags(row_of(ref)))
        seen |= own
        if own & wanted:
            kept.append(ref)
    if (tag := next((tag for tag in tags if tag not in seen), None)) is not None:
        listed = ", ".join(sorted(seen)[:20]) or "none"
        raise DatasetError(
            f"{format_path(path)}: select.tags: no row has the tag {tag!r}.{nearest(tag, seen)} "
            f"Tags: {listed}."
        )
    return kept


def _tags(row: Mapping[str, Any]) -> list[str]:
    tags = row.get("tags")
    return [tag for tag in tags if isinstance(tag, str)] if isinstance(tags, list | tuple) else []


# -- samples


def _groups(refs: list[RowRef], by: str, row_of: RowOf, path: Path) -> list[str]:
    """Return the group of each row; ``""`` for a row without a group."""
    groups = [_group(row_of(ref), by) for ref in refs]
    if not any(groups):
        raise DatasetError(
            f"{format_path(path)}: select.by: no row has a {by} to stratify by. Leave `by` out."
        )
    return groups


def _group(row: Mapping[str, Any], by: str) -> str:
    if by == "tag":
        return next(iter(_tags(row)), "")
    block: Any = row
    for name in (by,) if by in ("level", "dataset") else ("metadata", *by.split(".", 1)):
        block = block.get(name) if isinstance(block, Mapping) else None
    return "" if block is None else str(block)


def _draw_sample(groups: Sequence[str], count: int, seed: int) -> list[int]:
    """Return the places of a sample in which each group has its share of the whole."""
    # Python promises the same numbers in every version for random(), and not for sample():
    # https://docs.python.org/3/library/random.html#notes-on-reproducibility
    draw = random.Random(seed).random  # noqa: S311 a sample, not a secret
    by_group: dict[str, list[tuple[float, int]]] = {}
    for place, group in enumerate(groups):
        by_group.setdefault(group, []).append((draw(), place))
    shares = _shares([len(drawn) for drawn in by_group.values()], count)
    taken = (heapq.nsmallest(n, drawn) for n, drawn in zip(shares, by_group.values(), strict=True))
    return sorted(place for drawn in taken for _, place in drawn)


def _shares(sizes: Sequence[int], count: int) -> list[int]:
    """Return how many to take from each group, by the largest remainder; ties go to the first."""
    parts = [divmod(size * count, sum(sizes)) for size in sizes]
    left = count - sum(whole for whole, _ in parts)
    ranked = sorted(range(len(parts)), key=lambda place: -parts[place][1])
    return [whole + (place in ranked[:left]) for place, (whole, _) in enumerate(parts)]


# -- dependencies


def check_depends_on(tasks: Iterable[Task], known: Collection[str]) -> None:
    """Check that all dependencies exist, and that no tasks wait for each other.

    Args:
        tasks: the tasks of a run.
        known: the ids of all rows of its datasets.

    Raises:
        DatasetError: an id is unknown, or tasks wait for each other.
    """
    needs = {task.query_id: task.depends_on for task in tasks}
    problems = [
        f"row {query_id!r}: depends_on: no row {other!r}.{nearest(other, known)}"
        for query_id, others in needs.items()
        for other in others
        if other not in known
    ]
    if problems:
        refuse(problems)
    try:
        TopologicalSorter(needs).prepare()
    except CycleError as error:
        # Each of these is needed by the next one; a reader wants to know which row waits for which.
        ring = " -> ".join(map(repr, reversed(error.args[1])))
        raise DatasetError(f"rows depend on each other: {ring}. Remove one depends_on.") from None
