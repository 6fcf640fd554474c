"""``export``: a finished run in the form of another tool."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from pytest_browsereval.commands.base import Command
from pytest_browsereval.commands.runs import HELP, add_config, read_run


def export_run(arguments: argparse.Namespace) -> int:
    """Write a run, and print what was left out; 1 if something was lost, or was edited later."""
    from pytest_browsereval.analysis.evidence import contradicting
    from pytest_browsereval.analysis.parts import lacking
    from pytest_browsereval.contracts import naming
    from pytest_browsereval.errors import ConfigError, UsageError
    from pytest_browsereval.features.export.settings import make_export
    from pytest_browsereval.features.export.writing import describe_exported, list_gaps, write_export
    from pytest_browsereval.redaction.known import redact_known
    from pytest_browsereval.run.shards import Parts

    export = make_export(arguments.registry, arguments)
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
    parser.add_argument("run_name", metavar="RUN", help=HELP)
    to = parser.add_argument("--to", metavar="TYPE", required=True, help="what to write, with its options")
    add_config(parser)
    parse = parser.parse_known_args

    # Exports are imported for their options, which no other subcommand should wait for.
    def add_first(args: Any = None, namespace: Any = None) -> Any:
        from pytest_browsereval.errors import RegistryError
        from pytest_browsereval.features.export.settings import FAMILY, add_options

        if parser.get_default("registry") is None:
            try:
                registry = parser.get_default("door").load_registry()
            except RegistryError as error:
                parser.error(str(error))
            parser.set_defaults(registry=registry)
            to.help = f"what to write: {registry.list_names(FAMILY)}"
            add_options(parser, registry)
        return parse(args, namespace)

    parser.parse_known_args = add_first  # type: ignore[method-assign]


COMMANDS = (
    Command("export", "write a run in the format of another tool", export_run, _arguments, group="data"),
)
