"""``export``: a finished run in the form of another tool."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from pytest_browsereval.commands.base import Command, add_overrides
from pytest_browsereval.commands.runs import HELP, add_config, read_run


def export_run(arguments: argparse.Namespace) -> int:
    """Write a run, and print what was left out; 1 if something was lost, or was edited later."""
    from pytest_browsereval.analysis.evidence import contradicting
    from pytest_browsereval.analysis.parts import lacking
    from pytest_browsereval.config.loading import config_from
    from pytest_browsereval.contracts import naming
    from pytest_browsereval.errors import ConfigError, UsageError
    from pytest_browsereval.features.export.writing import describe_exported, list_gaps, write_export
    from pytest_browsereval.redaction.known import redact_known
    from pytest_browsereval.run.shards import Parts

    block = {"type": arguments.to} | ({} if arguments.output is None else {"output": arguments.output})
    config = config_from(
        {"agent": "noop", "dataset": "rows.jsonl", "export": block},
        path=Path("export"),
        registry=arguments.door.load_registry(),
        overrides=arguments.eval_set,
    )
    export = config.export[0]
    run = read_run(arguments.door, arguments.run_name, arguments.config)
    try:
        with naming(export, "preflight"):
            export.preflight(Path.cwd())
    except ConfigError as error:
        raise UsageError(f"export {export.type!r}: {error}") from None
    exported = write_export(export, run, Path.cwd())
    print(redact_known(describe_exported(export, exported, run)))
    for line in list_gaps(exported, run):
        print(redact_known(line), file=sys.stderr if line.startswith("lost") else sys.stdout)
    for gap in (lacking(run), edited := contradicting(run)):
        if gap is not None:
            print(redact_known(f"note: {gap.message}"), file=sys.stderr)
    parts = Parts.of_run(run.manifest)
    if parts is not None and parts.missing and "merged_from" not in run.manifest:
        have = ", ".join(f"{number}/{parts.of}" for number in parts.have)
        note = f"note: this is a part of a run ({have}). Merge all parts and export the result: figures"
        print(redact_known(f"{note} of a part are not those of the run."), file=sys.stderr)
    return 1 if exported.lost or edited else 0


def _arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("run_name", metavar="RUN", help=HELP)
    add("--to", metavar="TYPE", required=True, help="what to write: parquet, csv, atif, inspect, otel, ...")
    add("-o", "--output", metavar="PATH", help="where to write it")
    add_overrides(parser, "set an option of the export, such as export.pictures=false")
    add_config(parser)


COMMANDS = (
    Command("export", "write a run in the format of another tool", export_run, _arguments, group="data"),
)
