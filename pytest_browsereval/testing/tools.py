"""Conformance of tools: what every model can be given without surprises."""

from __future__ import annotations

import json
import re
from typing import Any

from pytest_browsereval.tools.base import Tool

_NAME = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")
_SENTENCE_END = re.compile(r"[.!?](?=\s|$)")
_ABBREVIATION = re.compile(r"\b(e\.g|i\.e|etc|vs)\.", re.IGNORECASE)


def tool_problems(tool: Tool) -> list[str]:
    """Return what of the tool contract a tool breaks; nothing if it keeps it.

    The contract: a snake_case name of at most 64 characters, a description of one or two sentences,
    a flat schema that refuses unknown arguments, and plain JSON throughout.
    """
    problems = []
    if not _NAME.fullmatch(tool.name) or len(tool.name) > 64:
        problems.append(f"the name {tool.name!r} is not snake_case of at most 64 characters")
    sentences = len(_SENTENCE_END.findall(_ABBREVIATION.sub("", tool.description)))
    if not 1 <= sentences <= 2:
        problems.append(
            f"the description has {sentences} sentences ending in a full stop; write one or two: "
            f"{tool.description!r}"
        )
    return problems + _schema_problems(tool.schema)


def check_tool(tool: Tool) -> None:
    """Assert that a tool keeps the tool contract; see :func:`tool_problems`.

    Raises:
        AssertionError: it does not; all problems are named.
    """
    problems = tool_problems(tool)
    if problems:
        raise AssertionError(f"tool {tool.name!r}: " + "; ".join(problems))


def _schema_problems(schema: dict[str, Any]) -> list[str]:
    problems = []
    try:
        json.dumps(schema)
    except TypeError as error:
        problems.append(f"the schema is not JSON: {error}")
    if schema.get("type") != "object":
        problems.append("the schema is not an object's")
    if schema.get("additionalProperties") is not False:
        problems.append("unknown arguments are not refused; give the model  extra='forbid'")
    if "$defs" in schema:
        problems.append("the schema refers to other schemas; use plain types")
    for name, field in schema.get("properties", {}).items():
        if not _NAME.fullmatch(name):
            problems.append(f"the argument {name!r} is not snake_case")
        if not _is_flat(field):
            problems.append(f"the argument {name!r} is nested; use strings, numbers, booleans, choices")
    return problems


def _is_flat(field: dict[str, Any]) -> bool:
    options = field.get("anyOf")
    if options is not None:
        # `str | None` and the like: one type, or nothing.
        given = [option for option in options if option.get("type") != "null"]
        return len(given) == 1 and _is_flat(given[0])
    if "enum" in field or "const" in field:
        return True
    return field.get("type") in ("string", "integer", "number", "boolean")
