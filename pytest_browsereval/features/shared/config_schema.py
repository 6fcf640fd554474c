"""JSON schemas of eval configs and rows for editors, with the installed members."""

from __future__ import annotations

import ast
import functools
import inspect
import itertools
import re
import textwrap
from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel
from pydantic.alias_generators import to_camel
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import to_jsonable_python

from pytest_browsereval.config.model import LISTS, EvalConfig
from pytest_browsereval.config.names import SITE_NAME, VARIANT_NAME
from pytest_browsereval.datasets.rows import TYPE_BY_SUFFIX
from pytest_browsereval.registry import FAMILIES, PLACE_OF_FAMILY, TYPE_BY_DEFAULT, Registry
from pytest_browsereval.tools.switches import is_on
from pytest_browsereval.tools.toolkits import CATALOG
from pytest_browsereval.validation_errors import accepts_camel_case

Schema = dict[str, Any]

DIALECT = "https://json-schema.org/draft/2020-12/schema"

TYPES_BY_DEFAULT = {"dataset": frozenset(TYPE_BY_SUFFIX.values()), "browser": frozenset({"playwright"})}
"""Members whose blocks may leave out ``type`` everywhere, by family."""

VARIABLE = "#/$defs/variable"

_TEXTS: dict[str, Schema] = {
    "variable": {
        "type": "string",
        "pattern": r"\$\{[A-Za-z_][A-Za-z0-9_]*\}",
        "description": "The value of an environment variable: `${NAME}`.",
    },
    # Texts in YAML 1.2; the loader knows that people mean booleans.
    "word": {"type": "string", "pattern": "^([Yy]es|[Nn]o|[Oo]n|[Oo]ff)$", "description": "True or false."},
}
"""Texts that may stand in the place of other values."""

_OF_A_VARIABLE_TYPE: Schema = {
    "type": "object",
    "properties": {"type": {"$ref": VARIABLE, "description": "The type, by a variable."}},
    "required": ["type"],
}

_MAPS = ("$defs", "properties", "patternProperties")
"""Keywords that hold schemas by name."""


def config_schema(registry: Registry) -> Schema:
    """Return the JSON schema of an eval config. It accepts the configs that the loader accepts.

    Only numbers and booleans in quotes are refused, which the loader reads, and files of other systems.

    Args:
        registry: the members that blocks may name.
    """
    schema = describe_model(EvalConfig)
    _add_shorthands(schema)
    schema = fill_members(schema, registry)
    for family in FAMILIES:
        if family in schema["$defs"]:  # only the loader can check a block whose type is a variable
            schema["$defs"][family]["anyOf"].append(_OF_A_VARIABLE_TYPE)
    schema = _allow_variables(schema)
    schema["$defs"].update(_TEXTS)
    return finish_schema(schema, "config", "pytest-browsereval eval config")


def finish_schema(schema: Schema, name: str, title: str) -> Schema:
    """Return a schema with its dialect, its id and its title, without definitions that nothing refers to."""
    head = {"$schema": DIALECT, "$id": f"urn:pytest-browsereval:{name}", "title": title}
    definitions = schema.pop("$defs")
    used = [schema]
    kept: dict[str, Schema] = {}
    for block in used:  # which grows meanwhile
        for label in set(_list_references(block)) - kept.keys():
            kept[label] = definitions[label]
            used.append(definitions[label])
    return {**head, **schema, "$defs": {label: definitions[label] for label in definitions if label in kept}}


def _list_blocks(value: Any) -> Iterator[Schema]:
    """Yield all blocks of a schema, from the outer ones on."""
    if isinstance(value, dict):
        yield value
        value = list(value.values())
    for inner in value if isinstance(value, list) else ():
        yield from _list_blocks(inner)


def _list_references(schema: Schema) -> Iterator[str]:
    for block in _list_blocks(schema):
        reference = block.get("$ref")
        if isinstance(reference, str) and reference.startswith("#/$defs/"):
            yield reference.split("/")[2]


# -- one model


class _Generator(GenerateJsonSchema):
    """Describes blocks as files have them: a text and a default for each key, and both spellings of keys."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        """Leave out titles, which repeat keys."""
        return False

    def model_schema(self, schema: Any) -> Schema:
        """Return the schema of a model."""
        block, model = super().model_schema(schema), schema["cls"]
        block.pop("title", None)
        if "description" in block:
            block["description"] = block["description"].replace("``", "`")
        texts, properties = field_texts(model), block.get("properties", {})
        for name, field in model.model_fields.items():
            key = properties.get(name, {})  # none of a field that no file has
            key |= {"description": texts[name]} if name in texts else {}
            if "default" not in key and not field.is_required():
                default = field.get_default(call_default_factory=True, validated_data={})
                key["default"] = to_jsonable_python(default, fallback=str)
        if accepts_camel_case(model):
            accept_camel_case(block)
        return block


def describe_model(model: type[BaseModel], name: str = "") -> Schema:
    """Return the schema of a model.

    Args:
        model: the model of a block.
        name: the key of its definition; models of inner blocks stand in ``$defs`` below it.
    """
    prefix = f"{name}." if name else ""
    template = f"#/$defs/{prefix}{{model}}"
    schema = model.model_json_schema(by_alias=False, ref_template=template, schema_generator=_Generator)
    inner = {f"{prefix}{key}": block for key, block in schema.pop("$defs", {}).items()}
    return {**schema, "$defs": inner}


def accept_camel_case(block: Schema) -> None:
    """Let a block have each of its keys in camelCase as well; doing it again changes nothing."""
    # As patterns, because editors propose properties: nobody wants to be offered both spellings.
    others = {name: to_camel(name) for name in block.get("properties", {}) if to_camel(name) != name}
    patterns = {f"^{other}$": block["properties"][name] for name, other in others.items()}
    if patterns:
        block["patternProperties"] = {**block.get("patternProperties", {}), **patterns}
    required = block.pop("required", [])
    either = [
        {"anyOf": [{"required": [name]}, {"required": [others[name]]}]} for name in required if name in others
    ]
    if rest := [name for name in required if name not in others]:
        block["required"] = rest
    if either:
        block["allOf"] = [*block.get("allOf", ()), *either]


def field_texts(model: type[BaseModel]) -> dict[str, str]:
    """Return the text under each field of a model and of its bases."""
    bases = (
        base for base in reversed(model.__mro__) if issubclass(base, BaseModel) and base is not BaseModel
    )
    return {name: text for base in bases for name, text in _own_texts(base).items()}


@functools.cache
def _own_texts(model: type[BaseModel]) -> dict[str, str]:
    # pydantic's `use_attribute_docstrings` would read the source of each class when the class is made, so in
    # every run: https://docs.pydantic.dev/latest/api/config/
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(model)))
    except (OSError, TypeError, SyntaxError):  # a class made at run time has no source
        return {}
    body = tree.body[0].body if isinstance(tree.body[0], ast.ClassDef) else []
    return {
        ast.unparse(line.target): " ".join(str(ast.literal_eval(text.value)).replace("``", "`").split())
        for line, text in itertools.pairwise(body)
        if isinstance(line, ast.AnnAssign) and isinstance(text, ast.Expr)
    }


# -- members of families


def name_definition(family: str, name: str) -> str:
    """Return the key of a member's definition in ``$defs``."""
    return f"{family}.{name.replace('/', '.')}"


def fill_members(schema: Schema, registry: Registry) -> Schema:
    """Return a schema with the members of families instead of the marks that ``MemberOf`` leaves.

    Args:
        schema: a schema with its ``$defs``.
        registry: the members.
    """
    definitions: dict[str, Schema] = schema["$defs"]
    families: dict[str, list[tuple[str, tuple[str, ...]]]] = {}
    for family, name, member, aliases in registry.everything():
        own = describe_model(member, name_definition(family, name))
        definitions.update(own.pop("$defs"))
        first = re.split(r"\n\s*\n", inspect.getdoc(member) or f"The {family} {name}.")[0]
        own["properties"]["type"] = {
            "enum": [name, *aliases],
            "default": name,
            "description": " ".join(first.replace("``", "`").split()),
        }
        definitions[name_definition(family, name)] = own
        families.setdefault(family, []).append((name, aliases))
    places = [block for block in _list_blocks(schema) if PLACE_OF_FAMILY in block]
    by_default = {(one[PLACE_OF_FAMILY], one[TYPE_BY_DEFAULT]) for one in places if TYPE_BY_DEFAULT in one}
    for family in sorted({*families, *(one[PLACE_OF_FAMILY] for one in places)}):
        definitions[family] = _describe_family(family, families.get(family, []), definitions, by_default)
    filled: Schema = _fill(schema)
    return filled


def _describe_family(
    family: str,
    members: list[tuple[str, tuple[str, ...]]],
    definitions: dict[str, Schema],
    by_default: set[tuple[str, str]],
) -> Schema:
    blocks: list[Schema] = []
    for name, _ in members:
        definition = name_definition(family, name)
        block: Schema = {"$ref": f"#/$defs/{definition}"}
        if (family, name) in by_default:
            block = {"allOf": [block], "required": ["type"]}
        elif name not in TYPES_BY_DEFAULT.get(family, ()):
            definitions[definition]["required"] = sorted(
                {*definitions[definition].get("required", ()), "type"}
            )
        blocks.append(block)
    names = [label for name, aliases in members for label in (name, *aliases)]
    # The loader reads a text as the path of a dataset, so the name alone is not allowed.
    short = [{"enum": names}] if names and family != "dataset" else []
    return {"anyOf": [*short, *blocks]}


def _fill(value: Any) -> Any:
    if isinstance(value, list):
        return [_fill(inner) for inner in value]
    if not isinstance(value, dict):
        return value
    family = value.get(PLACE_OF_FAMILY)
    if family is None:
        return {key: _fill(inner) for key, inner in value.items()}
    marks = (PLACE_OF_FAMILY, TYPE_BY_DEFAULT)
    others = {key: inner for key, inner in value.items() if key not in marks}
    whole = {"$ref": f"#/$defs/{family}"}
    if TYPE_BY_DEFAULT not in value:
        return {**others, **whole}
    definition = name_definition(family, value[TYPE_BY_DEFAULT])
    bare = {"allOf": [{"$ref": f"#/$defs/{definition}"}], "not": {"required": ["type"]}}
    return {**others, "anyOf": [whole, bare]}


# -- what a file may have and the model does not


def _add_shorthands(schema: Schema) -> None:
    properties = schema["properties"]
    # `browsereval gate` takes a file that only has a gate.
    whole: Schema = {"required": ["dataset"], "oneOf": [{"required": ["agent"]}, {"required": ["variants"]}]}
    others = ("agent", "variants", "dataset")
    only_gate = {"required": ["gate"], "not": {"anyOf": [{"required": [name]} for name in others]}}
    schema.pop("required", None)
    schema.update({"if": only_gate, "else": whole})
    properties["agent"] = {"description": "The agent; `variants` names several.", PLACE_OF_FAMILY: "agent"}
    properties["timeout_ms"] = {**schema["$defs"]["LimitsConfig"]["properties"]["timeout_ms"]}
    properties["$schema"] = {"type": "string", "description": "The schema of this file, for editors."}
    properties["browser"]["default"] = {"type": "playwright"}
    properties["variants"]["propertyNames"]["pattern"] = VARIANT_NAME
    properties["sites"]["propertyNames"]["pattern"] = SITE_NAME
    names, blocks = properties["variables"]["anyOf"]
    names["items"]["anyOf"][0]["pattern"] = SITE_NAME
    for block in (names["items"]["anyOf"][1], blocks):
        block["propertyNames"] = {"pattern": SITE_NAME}
    properties["tools"]["properties"] = _describe_switches()
    texts: dict[str, Schema] = {
        "dataset": {"type": "string", "description": "The path of a file."},
        "attacks": {"type": "string", "pattern": "^suite/", "description": "A suite of attacks."},
    }
    for name in ("dataset", *LISTS):
        entries = properties[name]
        one = entries["items"]
        if name in texts:
            one = {"anyOf": [texts[name], one]}
            entries["items"] = one
        keep = {key: entries.pop(key) for key in ("description", "default") if key in entries}
        properties[name] = {"anyOf": [one, entries], **keep}
    accept_camel_case(schema)


def _describe_switches() -> Schema:
    """Return the switches of the built-in tools; toolkits of plug-ins may add others."""
    kits = [kit for kit in CATALOG.values() if not kit.is_fixed]
    about = {kit.key: (f"{kit.label}: {', '.join(kit.names)}.", kit.default_on) for kit in kits}
    about |= {tool.name: (tool.description, is_on(tool.name, kits, {})) for kit in kits for tool in kit.tools}
    return {
        key: {"type": "boolean", "description": text, "default": default}
        for key, (text, default) in about.items()
    }


def _allow_variables(node: Any) -> Any:
    """Return a schema in which ``${NAME}`` may stand for each value that is not any text."""
    if not isinstance(node, dict):
        return node
    result: Schema = {}
    for key, value in node.items():
        if key in _MAPS:
            result[key] = {
                # An enum tells editors which block is meant.
                name: inner if name == "type" and "enum" in inner else _allow_variables(inner)
                for name, inner in value.items()
            }
        elif key in ("items", "additionalProperties", "else"):
            result[key] = _allow_variables(value)
        elif key in ("anyOf", "allOf"):
            result[key] = [_allow_variables(inner) for inner in value]
        else:
            result[key] = value
    if not (
        {"enum", "const", "pattern"} & node.keys() or node.get("type") in ("integer", "number", "boolean")
    ):
        return result
    notes = {key: result.pop(key) for key in ("description", "default") if key in result}
    words = [{"$ref": "#/$defs/word"}] if node.get("type") == "boolean" else []
    return {**notes, "anyOf": [result, {"$ref": VARIABLE}, *words]}
