"""Conformance of tools and toolkits: what a run and a model can be given without surprises."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from pytest_browsereval.tools.base import Tool
from pytest_browsereval.tools.toolkit import Policy, Toolkit
from pytest_browsereval.tools.toolkits import CATALOG, check_names

_NAME = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")
_SENTENCE_END = re.compile(r"[.!?](?=\s|$)")
_ABBREVIATION = re.compile(r"\b(e\.g|i\.e|etc|vs)\.", re.IGNORECASE)


def check_tool(tool: Tool) -> None:
    """Assert that a tool keeps the tool contract.

    The contract: a snake_case name of at most 64 characters, a description of one or two sentences,
    a flat schema that refuses unknown arguments, and plain JSON throughout.

    Raises:
        AssertionError: it does not; all problems are named.
    """
    if problems := _tool_problems(tool):
        raise AssertionError(f"tool {tool.name!r}: " + "; ".join(problems))


def _tool_problems(tool: Tool) -> list[str]:
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


def _schema_problems(schema: dict[str, Any]) -> list[str]:
    problems = []
    try:
        json.dumps(schema)
    except TypeError as error:
        problems.append(f"the schema is not JSON: {error}")
    if schema.get("type") != "object":
        problems.append("the schema is not an object's")
    if schema.get("additionalProperties") is not False:
        problems.append("unknown arguments are not refused; give the model `extra='forbid'`")
    if "$defs" in schema:
        problems.append("the schema refers to other schemas; use plain types")
    for name, field in schema.get("properties", {}).items():
        if not _NAME.fullmatch(name):
            problems.append(f"the argument {name!r} is not snake_case")
        if not _is_flat(field):
            problems.append(f"the argument {name!r} is nested; use plain types, choices, lists of these")
    return problems


def _is_flat(field: dict[str, Any]) -> bool:
    options = field.get("anyOf")
    if options is not None:
        # `str | None` and the like: one type, or nothing.
        given = [option for option in options if option.get("type") != "null"]
        return len(given) == 1 and _is_flat(given[0])
    if "enum" in field or "const" in field:
        return True
    if field.get("type") == "array":
        return _is_flat(field.get("items", {}))
    return field.get("type") in ("string", "integer", "number", "boolean")


# Characters of one line of policy.
LONGEST_LINE = 300
_QUOTED = re.compile(r"`([^`]*)`")
_SNAKE = re.compile(r"\b[a-z][a-z0-9]*(?:_[a-z0-9]+)+\b")


def check_toolkit(kit: Toolkit) -> None:
    """Assert that a toolkit keeps its contract.

    The contract: tools that keep theirs; names that no built-in tool or toolkit has; a policy of short
    lines of plain text, each of which names no tool but those that it ``needs``.

    Args:
        kit: what ``ToolkitConfig.build()`` has returned.

    Raises:
        AssertionError: it does not; all problems are named.
    """
    problems = [] if kit.label.strip() else ["the label is empty"]
    if not kit.tools:
        problems.append("it has no tools")
    for tool in kit.tools:
        problems += [f"tool {tool.name!r}: {problem}" for problem in _tool_problems(tool)]
    # A built-in toolkit would clash with itself.
    if CATALOG.get(kit.key) is not kit:
        try:
            check_names((*CATALOG.values(), kit))
        except ValueError as error:
            problems.append(str(error))
    problems += _policy_problems(kit)
    if problems:
        raise AssertionError(f"toolkit {kit.key!r}: " + "; ".join(problems))


def _policy_problems(kit: Toolkit) -> Iterator[str]:
    for line in kit.policy:
        yield from _line_problems(kit, line)
    for text in (kit.label, kit.absent, *(line.text for line in kit.policy)):
        if not text.isprintable():
            yield f"the text has line breaks or control characters: {text!r}"
        if len(text) > LONGEST_LINE:
            yield f"the text has {len(text)} characters; {LONGEST_LINE} are the most: {text[:60]!r}"
    for name in _find_tools(kit.absent):
        yield f"the text for when its tools are off names {name!r}, which a model then does not have"


def _line_problems(kit: Toolkit, line: Policy) -> Iterator[str]:
    if not line.text.strip():
        yield "a line of the policy is empty"
    for name in _find_tools(line.text):
        if name not in kit.names:
            yield f"the policy names {name!r}, which is not a tool of the toolkit: {line.text!r}"
        elif name not in line.needs:
            yield f"a line of the policy names {name!r} and does not need it; write `needs=({name!r},)`"


def _find_tools(text: str) -> list[str]:
    """Return the names of tools in a text: what is in back-quotes, and every snake_case word."""
    return list(dict.fromkeys([*_QUOTED.findall(text), *_SNAKE.findall(text)]))
