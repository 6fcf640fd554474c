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
    from pytest_browsereval.features.harvest.writer import make_rows, make_tests
    from pytest_browsereval.features.shared.proof import ORACLE, Stage

    out: Path = arguments.out
    if out.exists() or not out.absolute().parent.is_dir() or not out.match(NAMES[arguments.to]):
        raise UsageError(
            f"{out}: --to {arguments.to} writes a new file named like {NAMES[arguments.to]} into an "
            "existing folder. Name another file."
        )
    run = read_run(arguments.door, arguments.run_name, arguments.config)
    path = arguments.config or _find_config(run)
    arguments.door.load_conftests(path)
    registry = arguments.door.load_registry()
    config = load_config(path, registry=registry, overrides=arguments.eval_set, agent=ORACLE)
    with tempfile.TemporaryDirectory(prefix="browsereval-harvest-") as folder:
        stage = Stage(config, Path(folder), tuple(arguments.eval_set))
        found = harvest(run, config, registry, stage)
    text = (make_tests if arguments.to == "pytest" else make_rows)(found, config, out)
    if found.rows:
        write(out, text)
    write_reports(arguments, _make_report(found, out))
    return int(note_edited([run]) or bool(found.refused) or not found.rows)


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

    count, refused = len(found.rows), found.refused
    total = format_count(count + len(refused), "row")
    where = f" in {output}" if count else "; nothing is written"
    rows = [Row((name, why), sentence=f"{name}: {why}") for name, why in refused.items()]
    title = f"{format_count(len(rows), 'row')} refused:"
    notes = [f"{format_count(found.attacked, 'row')} under attack: only plain rows are harvested"]
    return Report(
        title=f"{count} of {total} harvested{where}",
        tables=[Table(("row", "reason"), rows, title, most=max(1, len(rows)))],
        notes=notes if found.attacked else [],
        content=lambda: {
            "harvested": [
                {"query_id": row.name, "steps": len(row.task.solution) - 1, "taken": row.way.taken}
                for row in found.rows
                if row.way
            ],
            "refused": [{"query_id": name, "reason": why} for name, why in refused.items()],
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
    parser.add_argument("--out", metavar="FILE", required=True, type=Path, help="the new file to write")
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
