"""Options of the command from the fields of exports, and exports from what was typed."""

from __future__ import annotations

import argparse
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal, Union, cast, get_args, get_origin

from pydantic import SecretStr, ValidationError

from pytest_browsereval.config.export import ExportConfig
from pytest_browsereval.errors import UsageError
from pytest_browsereval.features.shared.config_schema import field_texts
from pytest_browsereval.registry import Registry, read_block
from pytest_browsereval.validation_errors import list_problems

FAMILY = ExportConfig.family

SHORT = {"output": "-o"}

_PLAIN = (str, int, float, Path, SecretStr)


def add_options(parser: argparse.ArgumentParser, registry: Registry) -> None:
    """Add an option for each field of each export; exports with a field of one name share it."""
    fields: dict[str, list[tuple[str, str, str]]] = {}
    for name, member, _ in registry.members(FAMILY):
        texts = field_texts(member)
        for field, kind in _list_kinds(member):
            fields.setdefault(field, []).append((name, kind, texts.get(field, "")))
    for field, users in fields.items():
        flags = [*([SHORT[field]] if field in SHORT else []), f"--{field.replace('_', '-')}"]
        named: dict[str, list[str]] = {}
        for name, _, text in users:
            named.setdefault(text, []).append(name)
        said = " ".join(f"{', '.join(names)}: {text}" for text, names in named.items())
        said = said.replace("``", "").replace("%", "%%")
        kinds = {kind for _, kind, _ in users}
        if kinds == {"switch"}:
            parser.add_argument(*flags, action=argparse.BooleanOptionalAction, default=None, help=said)
        else:
            parser.add_argument(*flags, metavar="A,B" if kinds == {"list"} else "VALUE", help=said)
    parser.set_defaults(export_fields=tuple(fields))


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
        return cast("ExportConfig", read_block(member, block, {"registry": registry}))
    except ValidationError as error:
        problems = [
            f"--{one.where.replace('_', '-').partition('.')[0]} {one.message}" if one.path else one.message
            for one in list_problems(error, member, block, registry)
            # A list whose entries are all wrong is not too short as well.
            if one.kind != "too_short" or not block[str(one.path[0])]
        ]
        raise UsageError("\n".join(problems)) from None


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
