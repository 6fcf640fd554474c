"""A subcommand and a format: how often runs clicked, and runs as a table of clicks."""

from __future__ import annotations

import argparse
import csv
from collections.abc import Iterator
from pathlib import Path

from pytest_browsereval import Command, Exported, ExportFormat, RunStore


def _rows(store: RunStore) -> Iterator[tuple[Path, str, int]]:
    for folder, attempt in store.last_digests():
        yield folder, attempt.query_id, attempt.total_steps


def count_steps(arguments: argparse.Namespace) -> int:
    """Print how many steps the trials of a run took."""
    for _, query_id, steps in _rows(RunStore(Path(arguments.run_folder))):
        print(f"{query_id}: {steps}")
    return 0


def write_table(store: RunStore, target: Path) -> Exported:
    """Write one CSV file with the steps of each trial."""
    target.mkdir(parents=True)
    rows = list(_rows(store))
    with (target / "steps.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows((query_id, steps) for _, query_id, steps in rows)
    return Exported(tuple(folder for folder, _, _ in rows), ())


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run_folder", metavar="RUN", help="a run folder")


COMMAND = Command("acme-steps", "count the steps of a run", count_steps, _arguments)
FORMAT = ExportFormat("acme/steps", write_table)
