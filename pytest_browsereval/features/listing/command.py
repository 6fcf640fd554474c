"""``schema``: what configs and rows may have."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from pytest_browsereval.commands.base import Command


def schema(arguments: argparse.Namespace) -> int:
    """Print the JSON schema of eval configs or of rows, with the members of installed packages."""
    from pytest_browsereval.features.shared.config_schema import config_schema
    from pytest_browsereval.features.shared.row_schema import row_schema

    if arguments.near:
        arguments.door.load_conftests(Path(arguments.near))
    registry = arguments.door.load_registry()
    describe = row_schema if arguments.what == "rows" else config_schema
    print(json.dumps(describe(registry), indent=1))
    return 0


def _schema_arguments(parser: argparse.ArgumentParser) -> None:
    kinds, text = ("config", "rows"), "what to describe: config or rows"
    parser.add_argument("what", nargs="?", choices=kinds, default="config", help=text)
    near = "add the members of the conftest.py files that pytest loads for a config"
    parser.add_argument("--near", metavar="CONFIG", help=near)


COMMANDS = (
    Command(
        "schema",
        "print the JSON schema of eval configs or rows for editors, including installed plug-ins",
        schema,
        _schema_arguments,
        group="start",
    ),
)
