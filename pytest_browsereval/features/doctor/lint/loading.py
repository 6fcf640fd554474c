"""Reads the rows of a config; those that cannot be read become findings."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pytest_browsereval.config import EvalConfig
from pytest_browsereval.config_text import format_path
from pytest_browsereval.datasets.base import RowRef, Select
from pytest_browsereval.datasets.reader import index_rows, read_row
from pytest_browsereval.datasets.selection import check_depends_on
from pytest_browsereval.errors import ConfigError, DatasetError
from pytest_browsereval.features.doctor.lint.base import Finding, Level, Row
from pytest_browsereval.registry import Registry
from pytest_browsereval.run.plan import Entry, Plan

UNUSABLE = "unusable-row"
"""The rule of all that a run refuses in a file of rows."""

_PLACE = re.compile(r"^(?:(?P<where>[^\n]+?:\d+): )?(?:row '(?P<id>.*?)'(?: |: ))?(?P<text>.*)$", re.DOTALL)


@dataclass
class Loaded:
    """What could be read, and what is wrong with the rest."""

    rows: list[Row] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)


def load(config: EvalConfig, registry: Registry) -> Loaded:
    """Return all selected rows of the config with their graders."""
    loaded = Loaded()
    plan = Plan(config, registry)
    variant = next(iter(config.variants))
    seen: dict[str, str] = {}
    for dataset in config.dataset:
        refs: Sequence[RowRef] = ()
        try:
            refs = index_rows(dataset, config.base_dir)
        except DatasetError as error:
            loaded.findings += findings_of(error, format_path((config.base_dir / dataset.path).absolute()))
        for ref in refs:
            where = f"{format_path(ref.path)}:{ref.line}"
            if (other := seen.setdefault(ref.query_id, where)) != where:
                message = f"the id {ref.query_id!r} is also in {other}."
                advice = "Ids must differ across all datasets of a config; rename one."
                found = Finding(UNUSABLE, Level.ERROR, where, ref.query_id, message, advice)
                loaded.findings.append(found)
            else:
                loaded.rows += _row(plan, Entry(ref.query_id, ref, dataset, variant, 1), where, loaded)
    loaded.findings += _dependencies(config, loaded.rows)
    return loaded


def _dependencies(config: EvalConfig, rows: Sequence[Row]) -> Iterator[Finding]:
    """Yield what is wrong with ``depends_on``; rows that are not selected may be depended on."""
    if not any(row.task.depends_on for row in rows):
        return
    known = {row.task.query_id for row in rows}
    for dataset in config.dataset:
        with contextlib.suppress(DatasetError):  # it is a finding already
            whole = dataset.model_copy(update={"select": Select()})
            known |= {ref.query_id for ref in index_rows(whole, config.base_dir)}
    try:
        check_depends_on([row.task for row in rows], known)
    except DatasetError as error:
        yield from findings_of(error, rows[0].where.rpartition(":")[0])


def _row(plan: Plan, entry: Entry, where: str, loaded: Loaded) -> Iterator[Row]:
    """Yield the row if it can be read, with its graders if those can judge it."""
    try:
        ready = plan.ready(entry)
    except DatasetError as error:
        loaded.findings += findings_of(error, where, entry.ref.query_id)
        with contextlib.suppress(DatasetError):  # it is a finding already
            yield Row(read_row(entry.dataset, entry.ref), where, entry.dataset)
    except ConfigError:  # of the run's judge, which the doctor reports by itself
        yield Row(read_row(entry.dataset, entry.ref), where, entry.dataset)
    else:
        plan.forget(entry)
        yield Row(ready.task, where, entry.dataset, ready.graders)


def findings_of(error: DatasetError, where: str, query_id: str = "") -> Iterator[Finding]:
    """Yield what an error says, one finding for each of its problems.

    Args:
        error: with all of its problems; its message only counts some of them.
        where: the place of problems that name none.
        query_id: the row, where it is known.
    """
    for problem in error.problems:
        place = _PLACE.match(problem.removeprefix(f"{where}: "))
        assert place is not None  # noqa: S101 every text fits
        text = place["text"]
        at = format_place(place["where"]) if place["where"] else where
        row = query_id or place["id"] or ""
        message, _, advice = text.partition(". ")
        yield Finding(UNUSABLE, Level.ERROR, at, row, f"{message.removesuffix('.')}.", advice)


def format_place(where: str) -> str:
    """Return a file and line with the file as a reader would type it."""
    file, _, line = where.rpartition(":")
    return f"{format_path(Path(file))}:{line}"
