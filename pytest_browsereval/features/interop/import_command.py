"""``import``: the rows of a published benchmark, or of any dataset, written in our own form."""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_browsereval.commands.base import Command
from pytest_browsereval.commands.reporting import write
from pytest_browsereval.model.display import format_count
from pytest_browsereval.registry import Registry

if TYPE_CHECKING:
    from pytest_browsereval.datasets.base import DatasetConfig
    from pytest_browsereval.model.tasks import Task

STDOUT = "-"


def import_rows(arguments: argparse.Namespace) -> int:
    """Write the rows as JSON Lines, and print their number, their hash and what was left out."""
    here, registry = Path.cwd(), arguments.door.load_registry()
    dataset = _dataset(registry, arguments.type, arguments.path, arguments.set)
    target = None if arguments.output == STDOUT else Path(arguments.output)
    _check_target(target, dataset.file(here), force=arguments.force)
    tasks = _read_all(dataset, here)
    _check_protected(tasks, arguments)
    rows = (task.model_dump(mode="json", exclude_defaults=True) for task in tasks)
    text = "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows)
    if target is None:
        sys.stdout.write(text)
    else:
        write(target, text)
    digest = hashlib.sha256(text.encode()).hexdigest()
    lines = [f"{format_count(len(tasks), 'row')}, sha256 {digest}", *dataset.notes(here)]
    lines += [f"left out: {query_id}: {reason}" for query_id, reason in dataset.list_dropped(here)]
    print("\n".join(lines), file=sys.stderr if target is None else sys.stdout)
    return 0


def _dataset(registry: Registry, kind: str, path: str | None, options: Sequence[str]) -> DatasetConfig:
    from pydantic import ValidationError

    from pytest_browsereval.datasets.base import DatasetConfig
    from pytest_browsereval.errors import DatasetError
    from pytest_browsereval.validation_errors import list_problems

    member = registry.get("dataset", kind)
    block = {**_options(options), "type": member.type_name(), **({} if path is None else {"path": path})}
    try:
        dataset = member.model_validate(block, context={"registry": registry})
    except ValidationError as error:
        problems = list_problems(error, member, block, registry)
        raise DatasetError("\n".join(f"{kind}: {p.where}: {p.message}" for p in problems)) from None
    assert isinstance(dataset, DatasetConfig)  # noqa: S101 what the family holds
    return dataset


def _options(given: Sequence[str]) -> dict[str, Any]:
    """Return a block of ``key.path=value`` options, the values written as in YAML."""
    from pytest_browsereval.config_text import DocumentError, parse
    from pytest_browsereval.errors import ConfigError

    block: dict[str, Any] = {}
    for text in given:
        dotted, equals, value = text.partition("=")
        *outer, last = dotted.strip().split(".")
        inner = block
        for name in outer:
            inner = inner.setdefault(name, {})
            if not isinstance(inner, dict):
                raise ConfigError(f"--set {text}: {name!r} holds no keys.")
        if not equals or not last or "" in outer:
            raise ConfigError(f"--set {text}: write `KEY=VALUE`, such as `select.limit=20`.")
        try:
            inner[last] = parse(value, ".yaml").value
        except DocumentError as error:
            raise ConfigError(f"--set {text}: the value is {error}") from None
    return block


def _check_target(target: Path | None, source: Path, *, force: bool) -> None:
    from pytest_browsereval.errors import UsageError

    if target is None:
        return
    if not target.absolute().parent.is_dir():
        raise UsageError(f"{target}: the folder {target.parent} does not exist. Create it first.")
    if target.exists() and not target.is_file():
        raise UsageError(f"{target} is not a file. Name one, or write `-` to print.")
    if target.exists() and source.exists() and target.samefile(source):
        raise UsageError(f"{target} is the file that is being read. Name another one.")
    if target.exists() and not force:
        raise UsageError(f"{target} already exists. Name another file, or add `--force` to replace it.")


def _check_protected(tasks: Sequence[Task], arguments: argparse.Namespace) -> None:
    from pytest_browsereval.errors import UsageError

    protected = [task.query_id for task in tasks if task.protected]
    if protected:
        raise UsageError(
            f"{format_count(len(protected), 'row is', 'rows are')} protected "
            f"({', '.join(protected[:3])}): their benchmark asks that answers are never written in clear, as "
            "they would end up in what models learn from. Nothing was written. Name the file in the eval "
            f"config instead: `dataset: [{{type: {arguments.type}, path: {arguments.path or 'FILE'}}}]`."
        )


def _read_all(dataset: DatasetConfig, base_dir: Path) -> list[Task]:
    """Return the tasks of all rows.

    Raises:
        DatasetError: some are wrong; the message lists the first five problems and counts the rest.
    """
    from pytest_browsereval.datasets.reader import index_rows, read_row
    from pytest_browsereval.datasets.rows import refuse
    from pytest_browsereval.errors import DatasetError

    tasks: list[Task] = []
    problems: list[str] = []
    for ref in index_rows(dataset, base_dir):
        try:
            tasks.append(read_row(dataset, ref))
        except DatasetError as error:
            problems += str(error).splitlines()
    if problems:
        refuse(problems)
    return tasks


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "type", metavar="TYPE", help="the type of the dataset, as in a config: webvoyager, csv, ..."
    )
    parser.add_argument(
        "path",
        metavar="PATH",
        nargs="?",
        help="the file or folder of the benchmark; some types do not need it",
    )
    parser.add_argument(
        "-o", "--output", metavar="FILE", required=True, help="the file to write; - is standard output"
    )
    parser.add_argument(
        "--set",
        metavar="KEY=VALUE",
        action="append",
        default=[],
        help="set an option of the dataset block, such as reference=answers.json or select.limit=20",
    )
    parser.add_argument("--force", action="store_true", help="overwrite the file if it exists")


COMMANDS = (
    Command("import", "write the rows of a published benchmark as JSON Lines", import_rows, _arguments),
)
