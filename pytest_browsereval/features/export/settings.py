"""Options of the command from the fields of exports, and exports from what was typed."""

from __future__ import annotations

import argparse
import shlex
import types
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import SecretStr, ValidationError

from pytest_browsereval.config.export import ExportConfig
from pytest_browsereval.config_text import format_path
from pytest_browsereval.errors import PluginError, UsageError
from pytest_browsereval.features.shared.config_schema import field_texts
from pytest_browsereval.redaction.address import plain_url
from pytest_browsereval.registry import Registry, read_block
from pytest_browsereval.validation_errors import list_problems

FAMILY = ExportConfig.family

SHORT = {"output": "-o"}

_PLAIN = (str, int, float, Path, SecretStr)


def add_options(parser: argparse.ArgumentParser, registry: Registry) -> None:
    """Add an option for each field of each export; exports with a field of one name share it."""
    fields: dict[str, dict[str, tuple[str, str]]] = {}
    for name, member, _ in registry.members(FAMILY):
        texts = field_texts(member)
        for field, kind in _list_kinds(member):
            fields.setdefault(field, {})[name] = (kind, texts.get(field, ""))
    for field, users in fields.items():
        flags = [*([SHORT[field]] if field in SHORT else []), f"--{field.replace('_', '-')}"]
        kinds = {kind for kind, _ in users.values()}
        text = " ".join(f"{', '.join(names)}: {said}" for said, names in _group(users).items())
        text = text.replace("``", "").replace("%", "%%")
        if kinds == {"switch"}:
            parser.add_argument(*flags, action=argparse.BooleanOptionalAction, default=None, help=text)
        else:
            parser.add_argument(*flags, metavar="A,B" if kinds == {"list"} else "VALUE", help=text)
    parser.set_defaults(export_fields=tuple(fields))


def _group(users: Mapping[str, tuple[str, str]]) -> dict[str, list[str]]:
    texts: dict[str, list[str]] = {}
    for name, (_, said) in users.items():
        texts.setdefault(said, []).append(name)
    return texts


def make_export(registry: Registry, arguments: argparse.Namespace) -> ExportConfig:
    """Return the export that was typed.

    Raises:
        UsageError: it is not known, or an option is wrong or not one of it.
    """
    member = registry.get(FAMILY, arguments.to)
    kinds = dict(_list_kinds(member))
    block: dict[str, Any] = {"type": member.type_name()}
    for field in arguments.export_fields:
        value = getattr(arguments, field)
        if value is None:
            continue
        flag = f"--{field.replace('_', '-')}"
        if field not in kinds:
            known = ", ".join(f"--{one.replace('_', '-')}" for one in kinds) or "none"
            raise UsageError(f"the export {arguments.to!r} has no option {flag}. Its options: {known}.")
        block[field] = [one for one in value.split(",") if one] if kinds[field] == "list" else value
    try:
        made = read_block(member, block, {"registry": registry})
    except ValidationError as error:
        problems = [
            f"--{one.where.replace('_', '-').partition('.')[0]} {one.message}" if one.path else one.message
            for one in list_problems(error, member, block, registry)
            # A list whose entries are all wrong is not too short as well.
            if one.kind != "too_short" or not block[str(one.path[0])]
        ]
        raise UsageError("\n".join(problems)) from None
    if not isinstance(made, ExportConfig):
        raise PluginError(f"the export {arguments.to!r} is not an ExportConfig. Fix the plug-in.")
    return made


def describe_command(export: ExportConfig, run: Path, base_dir: Path) -> str:
    """Return how to do an export of a config again: the command, and which keys it cannot have.

    Args:
        export: what was done.
        run: the folder of the run.
        base_dir: that of the config.
    """
    words = ["browsereval", "export", format_path(run), "--to", export.type]
    kinds, missing = dict(_list_kinds(type(export))), []
    for field, info in type(export).model_fields.items():
        value = getattr(export, field)
        if isinstance(value, Path):  # relative to the config, and in the command to the current folder
            value = format_path(base_dir / value)
            is_default = base_dir.resolve() == Path.cwd() and getattr(export, field) == info.default
        else:
            is_default = value == info.get_default(call_default_factory=True)
        if field == "type" or is_default:
            continue
        flag, kind = f"--{field.replace('_', '-')}", kinds.get(field)
        if kind == "switch":
            words.append(flag if value else f"--no-{flag[2:]}")
        elif kind is None or value is None or isinstance(value, SecretStr) or _is_secret(value):
            missing.append(f"`{field}`")
        else:
            words += [flag, ",".join(map(str, value)) if kind == "list" else str(value)]
    rest = f", with {' and '.join(missing)} as in the config" if missing else ""
    return f"`{shlex.join(words)}` does it again{rest}"


def _is_secret(value: Any) -> bool:
    """Whether a value is a URL with a login or parameters."""
    return isinstance(value, str) and "://" in value and plain_url(value) != value


def _list_kinds(member: type[Any]) -> Iterator[tuple[str, str]]:
    """Yield the fields that an option can set: ``switch``, ``list`` or ``value``."""
    for name, field in member.model_fields.items():
        kind = None if name == "type" else _kind_of(field.annotation)
        if kind is not None:
            yield name, kind


def _kind_of(annotation: Any) -> str | None:
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _kind_of(arguments[0])
    if origin in (Union, types.UnionType):
        kinds = {_kind_of(one) for one in arguments if one is not type(None)}
        return kinds.pop() if len(kinds) == 1 else None
    if origin in (tuple, list, frozenset, set):
        return "list" if _kind_of(arguments[0]) == "value" else None
    if annotation is bool:
        return "switch"
    return "value" if origin is Literal or annotation in _PLAIN else None
