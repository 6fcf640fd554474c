"""A subcommand and an export: how often runs clicked, and runs as a table of clicks."""

from __future__ import annotations

import argparse
import csv
from pathlib import Path
from typing import Literal

from pytest_browsereval import Command, ExportConfig, Exported, StoredRun, open_run


def count_steps(arguments: argparse.Namespace) -> int:
    """Print how many steps the trials of a run took."""
    for attempt in open_run(arguments.run_folder).attempts:
        if attempt.counts:
            print(f"{attempt.query_id}: {attempt.total_steps}")
    return 0


class StepsExport(ExportConfig):
    """The steps of each trial: ``browsereval export RUN --to acme/steps --output steps.csv``."""

    type: Literal["acme/steps"] = "acme/steps"
    output: Path = Path("steps.csv")
    """The file to write."""

    def write(self, run: StoredRun, base_dir: Path) -> Exported:
        """Write one line for each trial."""
        target = base_dir / self.output
        rows = [(one.query_id, one.total_steps) for one in run.attempts if one.counts]
        with target.open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows(rows)
        return Exported(str(target), trials=len(rows))


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run_folder", metavar="RUN", help="a run")


COMMAND = Command("acme-steps", "count the steps of a run", count_steps, _arguments)
