"""Large runs are read by two processes: the files are those of one, whatever becomes of the other."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_browsereval import StoredRun, open_run
from pytest_browsereval.features.tables import reader
from pytest_browsereval.features.tables.reader import read_all_rows
from pytest_browsereval.features.tables.rows import Place, Rows, read_rows
from pytest_browsereval.features.tables.schema import COLUMNS
from tests.exported import mixed_run
from tests.hooks.small_evals import Evals

__all__ = ["mixed_run"]


@pytest.fixture
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have two processes read a run of 24 attempts."""
    monkeypatch.setattr(reader, "WORTH_A_PROCESS", 2)
    monkeypatch.setattr(reader, "BATCH", 5)
    monkeypatch.setattr(os, "cpu_count", lambda: 2)


def read(run: Path) -> tuple[list[Rows], list[str]]:
    """Return all rows of a run, and what was lost."""
    lost: list[str] = []
    return list(read_all_rows(open_run(run), tuple(COLUMNS), lost)), lost


@pytest.fixture
def damaged(mixed_run: Path, tmp_path: Path) -> Path:
    """Return a copy of the run in which logs of both processes are cut off."""
    run = tmp_path / mixed_run.name
    shutil.copytree(mixed_run, run)
    for place in (2, 7, 12, 22):
        with (open_run(run).attempts[place].folder / "messages.jsonl").open("a") as file:
            file.write('{"type": "assis')
    return run


@pytest.fixture
def read_here(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return how many attempts this process was asked to read, each time."""
    asked: list[int] = []

    def count(run: StoredRun, tables: Any, lost: list[str], places: Iterable[Place]) -> Iterator[Rows]:
        own = list(places)
        asked.append(len(own))
        return read_rows(run, tables, lost, own)

    monkeypatch.setattr(reader, "read_rows", count)
    return asked


def test_two_processes_read_what_one_reads(damaged: Path, request: pytest.FixtureRequest) -> None:
    """The same rows in the same order, and each damaged log once."""
    rows, lost = read(damaged)
    assert (len(rows), len(lost)) == (24, 4)
    request.getfixturevalue("small_batches")
    asked = request.getfixturevalue("read_here")
    again, told = read(damaged)
    assert again == rows
    assert sorted(told) == sorted(lost)
    assert asked == [5]  # the first batch; the others came from the other process


@pytest.mark.usefixtures("small_batches")
@pytest.mark.parametrize("program", ["/bin/false", "/bin/echo"])
def test_a_process_that_dies_or_writes_something_else_costs_no_row(
    damaged: Path, read_here: list[int], monkeypatch: pytest.MonkeyPatch, program: str
) -> None:
    """Its attempts are read by this one."""
    monkeypatch.setattr(sys, "executable", program)
    rows, lost = read(damaged)
    assert (len(rows), len(lost)) == (24, 4)
    assert read_here == [5, 5, 5, 5, 4]


@pytest.mark.usefixtures("small_batches")
def test_a_damaged_record_of_the_other_process_is_named(damaged: Path, evals: Evals) -> None:
    """As one that this process reads; nothing half is left."""
    (open_run(damaged).attempts[6].folder / "metadata.json").write_text("{}")
    done = evals.run_command("export", str(damaged), "--to", "jsonl")
    assert done.ret == 4
    assert "metadata.json is damaged" in done.stderr.str()
    assert [*evals.path.rglob("tables/*/*")] == []
