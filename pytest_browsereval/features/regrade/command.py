"""``regrade``: the attempts of a run graded again, which is ``pytest --eval-regrade`` with less to type."""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

from pytest_browsereval.commands.base import Command
from pytest_browsereval.commands.runs import HELP, find_run
from pytest_browsereval.errors import UsageError
from pytest_browsereval.run_files import load_written


def regrade(arguments: argparse.Namespace) -> int:
    """Have pytest grade a run again and return its exit code: 0, or 1 if the gate or a trial is not met."""
    config = Path(arguments.config) if arguments.config else None
    run = find_run(arguments.door, arguments.run_name, config, is_changed=True)
    config = config or _config_of(run)
    sets = [f"--eval-set=judge.{text}" for text in arguments.judge_set]
    options = [f"--eval-config={config}", f"--eval-regrade={run}", f"--eval-regrade-rows={arguments.rows}"]
    # A process of its own loads conftests and plug-ins as any run does.
    command = [sys.executable, "-m", "pytest", *options, *sets]
    with subprocess.Popen(command) as process:  # noqa: S603 ourselves
        while True:
            try:
                return process.wait()
            except KeyboardInterrupt:  # pytest got the interrupt too, and ends as it always does
                continue


def _config_of(run: Path) -> Path:
    """Return the config that the run was made with, which stands above ``results/NAME/RUN``.

    (The manifest has the config without its secrets, and members of conftests are found beside the file.)

    Raises:
        UsageError: it is not there.
    """
    place = run.resolve()
    try:
        name = str(load_written(place / "manifest.json")["config_file"])
    except (OSError, ValueError, KeyError, TypeError):
        name = ""
    found = place.parents[2] / Path(name).name if name and len(place.parents) > 2 else None
    if found is None or not found.is_file():
        looked = f" {found} is not there." if found else ""
        raise UsageError(f"which config is to grade {run}?{looked} Name it by --config FILE.")
    print(f"grading by {found}", flush=True)
    return found


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run_name", metavar="RUN", help=HELP)
    parser.add_argument(
        "--config", metavar="FILE", help="the config with graders and judge (default: that of the run)"
    )
    parser.add_argument(
        "--rows",
        choices=("stored", "current"),
        default="stored",
        help="use the answers, checks and rubrics that are stored in the run, or the current ones "
        "of the dataset (default: stored)",
    )
    parser.add_argument(
        "--judge-set",
        metavar="KEY=VALUE",
        action="append",
        default=[],
        help="override a key of the config's judge: model=gpt-5, votes=3 (repeatable)",
    )


COMMANDS = (
    Command(
        "regrade", "grade the stored attempts of a run again, without browser and agent", regrade, _arguments
    ),
)
