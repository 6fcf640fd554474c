"""``import``: the rows of a published benchmark, or of any dataset, written in our own form."""

from __future__ import annotations

import argparse
import hashlib
import json
from pathlib import Path

from pytest_browsereval.commands.base import Command, add_overrides
from pytest_browsereval.features.shared.reporting import write
from pytest_browsereval.model.display import format_count


def import_rows(arguments: argparse.Namespace) -> int:
    """Write the rows as JSON Lines, and print their number, their hash and what was left out.

    Raises:
        UsageError: the file is there already, a row is protected or wrong, or the dataset is not known.
    """
    from pytest_browsereval.config.loading import config_from
    from pytest_browsereval.datasets.reader import index_rows, read_row
    from pytest_browsereval.errors import ConfigError, UsageError

    here, target = Path.cwd(), Path(arguments.output)
    if target.exists():
        raise UsageError(f"{target} already exists. Name another file, or remove it.")
    block = {"type": arguments.type} | ({} if arguments.path is None else {"path": arguments.path})
    registry, value = arguments.door.load_registry(), {"agent": "noop", "dataset": block}
    try:
        config = config_from(value, path=Path("import"), registry=registry, overrides=arguments.eval_set)
    except ConfigError as error:
        how = f"PATH is missing: write `browsereval import {arguments.type} PATH -o {arguments.output}`."
        raise UsageError(str(error).replace("dataset.path: missing. Write it.", how)) from None
    dataset = config.dataset[0]
    tasks = [read_row(dataset, ref) for ref in index_rows(dataset, here)]
    if protected := [task.query_id for task in tasks if task.protected]:
        count = format_count(len(protected), "row is", "rows are")
        shown = f"`dataset: [{{type: {arguments.type}, path: {arguments.path or 'FILE'}}}]`"
        raise UsageError(
            f"{count} protected ({', '.join(protected[:3])}): their benchmark asks that answers are never in "
            f"plain text. Nothing was written. Name the file in the eval config instead: {shown}."
        )
    rows = (task.model_dump(mode="json", exclude_defaults=True) for task in tasks)
    text = "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows)
    write(target, text)
    print(f"{format_count(len(tasks), 'row')}, sha256 {hashlib.sha256(text.encode()).hexdigest()}")
    dropped = (f"left out: {query_id}: {reason}" for query_id, reason in dataset.list_dropped(here))
    for line in (*dataset.notes(here), *dropped):
        print(line)
    return 0


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "type", metavar="TYPE", help="the type of the dataset, as in a config: webvoyager, csv, ..."
    )
    file = "the file or folder of the benchmark; some types do not need it"
    parser.add_argument("path", metavar="PATH", nargs="?", help=file)
    parser.add_argument("-o", "--output", metavar="FILE", required=True, help="the file to write")
    add_overrides(parser, "set an option of the dataset, such as dataset.reference=answers.json")


COMMANDS = (
    Command(
        "import",
        "write the rows of a published benchmark as JSON Lines",
        import_rows,
        _arguments,
        group="data",
    ),
)
