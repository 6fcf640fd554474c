"""``browsereval harvest``: passed attempts of a run as solutions of its rows, or as tests."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_browsereval.commands.base import Command, add_overrides
from pytest_browsereval.commands.runs import HELP, note_edited, read_run
from pytest_browsereval.errors import UsageError
from pytest_browsereval.features.shared.reporting import add_reports, write, write_reports

if TYPE_CHECKING:
    from pytest_browsereval.features.harvest.search import Harvest
    from pytest_browsereval.report.report import Report
    from pytest_browsereval.runs.run import StoredRun


NAMES = {"rows": "*.jsonl", "pytest": "test_*.py"}
"""What can be written, and how such files are named."""


def run_harvest(arguments: argparse.Namespace) -> int:
    """Write what was harvested; 1 if a row of the run was not, or records were edited later."""
    import tempfile

    from pytest_browsereval.config import load_config
    from pytest_browsereval.features.harvest.search import harvest
    from pytest_browsereval.features.shared.proof import ORACLE, Stage

    _check_file(arguments.out, arguments.to)
    run = read_run(arguments.door, arguments.run_name, arguments.config)
    path = arguments.config or _find_config(run)
    arguments.door.load_conftests(path)
    registry = arguments.door.load_registry()
    config = load_config(path, registry=registry, overrides=arguments.eval_set, agent=ORACLE)
    with tempfile.TemporaryDirectory(prefix="browsereval-harvest-") as folder:
        stage = Stage(config, Path(folder), tuple(arguments.eval_set))
        found = harvest(run, config, registry, stage)
    if arguments.to == "pytest":
        from pytest_browsereval.features.harvest.writer import make_tests as make
    else:
        from pytest_browsereval.features.harvest.row_file import make_rows as make
    text = make(found, config, arguments.out)
    if found.rows:
        write(arguments.out, text)
    write_reports(arguments, _make_report(found, arguments.out))
    return int(note_edited([run]) or bool(found.refused) or not found.rows)


def _check_file(path: Path, to: str) -> None:
    """Refuse a file that cannot be written, or that nobody would read, before anything is played.

    Raises:
        UsageError: with what to name.
    """
    if path.exists():
        raise UsageError(f"{path} exists already, and is left alone. Name a new file.")
    if not path.absolute().parent.is_dir():
        raise UsageError(f"{path}: there is no folder {path.parent}. Create it, or name another file.")
    if not path.match(NAMES[to]):
        raise UsageError(f"{path}: --to {to} writes a file that is named like {NAMES[to]}.")


def _find_config(run: StoredRun) -> Path:
    """Return the config of a run.

    Raises:
        UsageError: it is not where the run was made, or the run itself has brought it.
    """
    given = run.read_manifest()
    name, folder = given.get("config_file"), given.get("config_folder")
    if isinstance(name, str) and isinstance(folder, str):
        path = (run.folder.resolve() / folder / Path(name).name).resolve()
        # A run of others is no place for code of ours to come from: a config may have conftests.
        if path.is_file() and not path.is_relative_to(run.folder.resolve()):
            return path
    raise UsageError(f"the config of {run.name} cannot be found. Name it with --config FILE.")


def _make_report(found: Harvest, output: Path) -> Report:
    from pytest_browsereval.model.display import format_count
    from pytest_browsereval.report.report import Report, Row, Table

    count = len(found.rows)
    total = format_count(count + len(found.refused), "row")
    where = f" in {output}" if count else "; nothing is written"
    notes = [f"{format_count(found.attacked, 'row')} under attack: only plain rows are harvested"]
    return Report(
        title=f"{count} of {total} harvested{where}",
        tables=[
            Table(
                ("row", "reason"),
                [Row((name, why), sentence=f"{name}: {why}") for name, why in found.refused.items()],
                f"{format_count(len(found.refused), 'row')} refused:",
                most=max(1, len(found.refused)),
            )
        ],
        notes=notes if found.attacked else [],
        content=lambda: {
            "harvested": [
                {
                    "query_id": row.task.query_id,
                    "steps": len(row.task.solution) - 1,
                    "taken": row.way.taken if row.way else 0,
                }
                for row in found.rows
            ],
            "refused": [{"query_id": name, "reason": why} for name, why in found.refused.items()],
            "under_attack": found.attacked,
            "file": str(output) if count else None,
        },
    )


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run_name", metavar="RUN", help=HELP)
    parser.add_argument(
        "--to",
        required=True,
        choices=[*NAMES],
        help="what to write: rows with a `solution`, or tests of pytest-playwright",
    )
    parser.add_argument(
        "--out", metavar="FILE", required=True, type=Path, help="the file to write, which is a new one"
    )
    parser.add_argument(
        "--config",
        metavar="FILE",
        type=Path,
        help="the config of the run (default: the one that it was made with)",
    )
    add_overrides(parser)
    add_reports(parser)


COMMANDS = (
    Command(
        "harvest",
        "write the passed attempts of a run as solutions of its rows, or as tests; each is proved",
        run_harvest,
        _arguments,
        group="data",
    ),
)
