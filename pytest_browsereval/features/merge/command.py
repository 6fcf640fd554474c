"""``merge``: several runs of one eval as one."""

from __future__ import annotations

import argparse
from pathlib import Path

from pytest_browsereval.commands.base import Command
from pytest_browsereval.commands.runs import HELP, add_config, find_runs


def merge(arguments: argparse.Namespace) -> int:
    """Merge runs and say what came of it."""
    from pytest_browsereval.analysis.parts import lacking
    from pytest_browsereval.features.merge.merge import merge_runs
    from pytest_browsereval.features.shared.viewer.writing import write_viewer
    from pytest_browsereval.report.table import totals
    from pytest_browsereval.runs.run import StoredRun

    door = arguments.door
    runs = find_runs(door, arguments.run_names, arguments.config)

    merged = merge_runs(runs, arguments.output, is_partial=arguments.partial, door=door)
    # The pages of the parts show their own trials only.
    write_viewer(door, arguments.output)
    for note in merged.notes:
        print(f"note: {note}")
    run = StoredRun(arguments.output, door)
    for line in (*totals(run.summary, merged.selected), *door.describe_run(run)):
        print(line)
    if (rule := lacking(run)) is not None:
        print(f"not complete, so it meets no gate: {rule.message}")
    print(f"{len(runs)} runs, {merged.trials} trials: {arguments.output}", flush=True)
    return 0


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run_names", metavar="RUN", nargs="+", help=HELP)
    add_config(parser)
    parser.add_argument(
        "-o", "--output", metavar="FOLDER", type=Path, required=True, help="the folder of the new run"
    )
    parser.add_argument(
        "--partial",
        action="store_true",
        help="merge even if shards are missing; the run is then incomplete and meets no gate",
    )


COMMANDS = (Command("merge", "join the shards of an eval into one run", merge, _arguments, group="ci"),)
