"""The JSON schema of rows, with the installed graders."""

from __future__ import annotations

from typing import Any

from pytest_browsereval.features.shared.check_schema import check_schema
from pytest_browsereval.features.shared.config_schema import (
    Schema,
    describe_model,
    fill_members,
    finish_schema,
)
from pytest_browsereval.model.tasks import Task
from pytest_browsereval.registry import PLACE_OF_FAMILY, Registry
from pytest_browsereval.tools.toolkits import CATALOG


def row_schema(registry: Registry) -> Schema:
    """Return the JSON schema of a row, of a list of rows, and of a file with ``tasks``.

    Rows of CSV files and rows under other keys by ``columns`` are not described.

    Args:
        registry: the graders that rows may name.
    """
    row = describe_model(Task)
    properties = row["properties"]
    for name, key in properties.items():
        if key.get("type") == "array":  # the reader takes null for an empty list
            rest = {word: key.pop(word) for word in ("description", "default") if word in key}
            properties[name] = {**rest, "anyOf": [key, {"type": "null"}]}
    _items(properties["graders"])["items"] = {PLACE_OF_FAMILY: "grader"}
    _items(properties["checks"])["items"] = {"$ref": "#/$defs/check"}
    tools = [name for kit in CATALOG.values() for name in kit.names]
    _items(properties["solution"])["items"].update(
        {
            "properties": {
                "tool": {
                    "type": "string",
                    "examples": tools,
                    "description": "The name of a tool; its arguments are next to it.",
                }
            },
            "required": ["tool"],
        }
    )
    definitions = {**row.pop("$defs"), "check": check_schema()}
    definitions["Milestone"]["properties"]["check"]["$ref"] = "#/$defs/check"
    schema = fill_members({"$defs": {**definitions, "row": row}}, registry)
    one = {"$ref": "#/$defs/row"}
    file = {
        "properties": {
            "$schema": {"type": "string", "description": "The schema of this file, for editors."},
            "tasks": {"type": "array", "items": one, "description": "The rows."},
        },
        "additionalProperties": False,
    }
    # By `if` and not by `anyOf`, so that editors report what is wrong with a row.
    schema.update(
        {
            "type": ["object", "array"],
            "if": {"type": "array"},
            "then": {"items": one},
            "else": {"if": {"required": ["tasks"]}, "then": file, "else": one},
        }
    )
    return finish_schema(schema, "rows", "pytest-browsereval rows")


def _items(key: Schema) -> dict[str, Any]:
    entries: dict[str, Any] = key["anyOf"][0]
    return entries
