"""The JSON schema of an eval config, with the installed members."""

from __future__ import annotations

import ast
import inspect
import itertools
import textwrap
from collections.abc import Iterator
from typing import Any, get_args

from pydantic import BaseModel

from pytest_browsereval.config.model import SITE_NAME, VARIANT_NAME, EvalConfig
from pytest_browsereval.registry import Component, Registry
from pytest_browsereval.tools.catalog import Catalog
from pytest_browsereval.tools.toolkits import CATALOG

PLACEHOLDER = "x-browsereval-family"
"""Marks the place of a member of a family; see ``MemberOf``."""

DEFAULT = "x-browsereval-default"
"""The type of a block without a type at that place."""

HAS_DEFAULT_TYPE = ("dataset", "browser")
"""Families whose blocks may leave out ``type``: the suffix or a default determines it."""


def config_schema(registry: Registry) -> dict[str, Any]:
    """Return the schema, for editors and for checks by other programs.

    Args:
        registry: the members that blocks may name.
    """
    schema = _schema_of(EvalConfig, "")
    definitions: dict[str, Any] = schema.setdefault("$defs", {})
    for family, name, member, aliases in registry.everything():
        own = _schema_of(member, f"{_definition(family, name)}.")
        definitions.update(own.pop("$defs", {}))
        own["properties"]["type"] = {"enum": [name, *aliases]}
        needs_type = () if family in HAS_DEFAULT_TYPE else ("type",)
        own["required"] = sorted({*own.get("required", ()), *needs_type})
        definitions[_definition(family, name)] = own
    _shorthands(schema)
    filled: dict[str, Any] = _fill_members(schema, registry)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "pytest-browsereval eval config",
        **{key: value for key, value in filled.items() if key != "title"},
    }


def _definition(family: str, name: str) -> str:
    return f"{family}.{name.replace('/', '.')}"


def _schema_of(model: type[BaseModel], prefix: str) -> dict[str, Any]:
    """Return the schema of a model in snake_case, with the texts under its fields as descriptions."""
    schema = model.model_json_schema(by_alias=False, ref_template=f"#/$defs/{prefix}{{model}}")
    inner = schema.pop("$defs", {})
    for described in _models_in(model):
        block = schema if described is model else inner.get(described.__name__, {})
        for name, text in _field_texts(described).items():
            if name in block.get("properties", {}):
                block["properties"][name]["description"] = text
    if inner:
        schema["$defs"] = {f"{prefix}{name}": block for name, block in inner.items()}
    return schema


def _models_in(model: type[BaseModel]) -> list[type[BaseModel]]:
    """Return a model and those that its fields hold, at any depth, without members of families."""
    found = [model]
    for each in found:  # which grows meanwhile
        for field in each.model_fields.values():
            kinds = (kind for kind in _classes_in(field.annotation) if issubclass(kind, BaseModel))
            found += (kind for kind in kinds if not issubclass(kind, Component) and kind not in found)
    return found


def _classes_in(annotation: Any) -> Iterator[type]:
    if inspect.isclass(annotation):
        yield annotation
    for argument in get_args(annotation):
        yield from _classes_in(argument)


def _field_texts(model: type[BaseModel]) -> dict[str, str]:
    """Return the text under each field of a model and of its bases."""
    # pydantic's `use_attribute_docstrings` would read the source of each class when the class is made, so in
    # every run: https://docs.pydantic.dev/latest/api/config/
    texts: dict[str, str] = {}
    for base in reversed(model.__mro__):
        if not issubclass(base, BaseModel) or base is BaseModel:
            continue
        try:
            tree = ast.parse(textwrap.dedent(inspect.getsource(base)))
        except (OSError, TypeError, SyntaxError):  # a class made at run time has no source
            continue
        body = tree.body[0].body if isinstance(tree.body[0], ast.ClassDef) else []
        for line, text in itertools.pairwise(body):
            if isinstance(line, ast.AnnAssign) and isinstance(text, ast.Expr):
                texts[ast.unparse(line.target)] = " ".join(str(ast.literal_eval(text.value)).split())
    return texts


# -- what a file may have and the model does not


def _shorthands(schema: dict[str, Any]) -> None:
    properties = schema["properties"]
    schema["required"] = ["dataset"]
    schema["oneOf"] = [{"required": ["agent"]}, {"required": ["variants"]}]
    properties["agent"] = {"description": "The agent; `variants` names several.", PLACEHOLDER: "agent"}
    properties["timeout_ms"] = {**schema["$defs"]["LimitsConfig"]["properties"]["timeout_ms"]}
    properties["variants"]["propertyNames"]["pattern"] = VARIANT_NAME
    properties["sites"]["propertyNames"]["pattern"] = SITE_NAME
    properties["tools"]["properties"] = _switches()
    for name in ("dataset", "graders", "toolkits"):
        entries = properties[name]
        one = entries["items"]
        if name == "dataset":
            one = {"anyOf": [{"type": "string", "description": "The path of a file."}, one]}
            entries["items"] = one
        keep = {key: entries.pop(key) for key in ("description", "default", "title") if key in entries}
        properties[name] = {"anyOf": [one, entries], **keep}


def _switches() -> dict[str, Any]:
    """Return the switches of the built-in tools; toolkits of plug-ins may add others."""
    catalog = Catalog.of(kit for kit in CATALOG.values() if not kit.is_fixed)
    kits = {kit.key: (f"{kit.label}: {', '.join(kit.tools)}.", kit.default_on) for kit in catalog.toolkits}
    tools = {tool.key: (tool.description, tool.default_on) for tool in catalog.tools}
    return {
        key: {"type": "boolean", "description": text, "default": is_on}
        for key, (text, is_on) in {**kits, **tools}.items()
    }


def _fill_members(value: Any, registry: Registry) -> Any:
    """Return the schema with the members instead of the placeholders."""
    if isinstance(value, list):
        return [_fill_members(inner, registry) for inner in value]
    if not isinstance(value, dict):
        return value
    family = value.get(PLACEHOLDER)
    if family is None:
        return {key: _fill_members(inner, registry) for key, inner in value.items()}
    members = [(name, aliases) for its, name, _, aliases in registry.everything() if its == family]
    blocks: list[dict[str, Any]] = [{"$ref": f"#/$defs/{_definition(family, name)}"} for name, _ in members]
    names = [label for name, aliases in members for label in (name, *aliases)]
    others = {key: inner for key, inner in value.items() if key not in (PLACEHOLDER, DEFAULT, "title")}
    if DEFAULT in value:  # only the loader can check a block whose type is a default
        blocks.append({"type": "object", "not": {"required": ["type"]}})
    # The loader reads a text as the path of a dataset, so the name alone is not allowed.
    short = [] if family == "dataset" else [{"enum": names}]
    return {**others, "anyOf": [*short, *blocks]}
