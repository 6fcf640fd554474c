"""``providers`` and ``schema``: what there is to choose from."""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path

from pytest_browsereval.commands.base import Command, say


def providers(_: argparse.Namespace) -> int:
    """Print the model providers: address, whether the key's variable is set, what each supports."""
    from pytest_browsereval.providers import PROVIDERS, REFUSED, list_capabilities

    for provider in PROVIDERS.values():
        variable = provider.key_variable
        key = f"{variable} ({'set' if os.environ.get(variable) else 'not set'})" if variable else "no key"
        # Any server can stand behind it, so no variable is known for its key.
        key = "key by api_key" if provider.base_url is None else key
        can = ", ".join(list_capabilities(provider))
        say(provider.name, f"{provider.base_url or 'any base_url'}; {key}; {can}")
    print("Not usable as a provider, with what to write instead:")
    for name, why in REFUSED.items():
        say(name, why)
    return 0


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
        "providers", "list the model providers and whether their API keys are set", providers, group="start"
    ),
    Command(
        "schema",
        "print the JSON schema of eval configs or rows for editors, including installed plug-ins",
        schema,
        _schema_arguments,
        group="start",
    ),
)
