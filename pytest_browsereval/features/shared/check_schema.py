"""The JSON schema of a row's check, from the tables that graders read checks by."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from pytest_browsereval.graders.base import GraderConfig
from pytest_browsereval.graders.comparators import MEANINGS, OPTIONS
from pytest_browsereval.graders.page_state import BESIDE, PAGE_CHECKS, PageStateGrader
from pytest_browsereval.graders.state_diff import StateDiffGrader
from pytest_browsereval.needs import ChecksRead
from pytest_browsereval.registry import Registry

Schema = dict[str, Any]

CHECK_KEYS = {
    **{kind: form.about for kind, form in PAGE_CHECKS.items()},
    **BESIDE,
    **MEANINGS,
    **{option: text for option, (_, text) in OPTIONS.items()},
}
"""The keys of checks that the graders of this package read, each with its description."""

_TEXT: Schema = {"type": "string", "minLength": 1}
_NOT_BLANK: Schema = {"type": "string", "pattern": r"\S"}

# What the readers of the graders allow; the tests compare the two.
_VALUES: dict[str, Schema] = {
    "role": {"type": "string", "pattern": r"^[^\s\d_-]+$"},
    "js": _NOT_BLANK,
    "storage": {"type": "string", "pattern": r"^(local|session):[\s\S]"},
    "name": {"type": ["string", "null"]},
    "count": {"type": ["integer", "null"], "minimum": 0},
    "path": {"type": ["string", "null"]},
    "weight": {"type": "number", "exclusiveMinimum": 0},
    "contains": {"not": {"enum": ["", None]}},
    "regex": _TEXT,
    "one_of": {"type": "array", "minItems": 1},
    "set_equals": {"type": "array"},
    "number": {"type": "number"},
    "min": {"type": "number"},
    "max": {"type": "number"},
    "exists": {"type": "boolean"},
    "tolerance": {"type": "number", "minimum": 0},
    "day_first": {"type": "boolean"},
}

_COMPARES: Schema = {
    "oneOf": [{"required": [kind]} for kind in MEANINGS],
    "dependentRequired": {option: [kind] for option, (kind, _) in OPTIONS.items()},
}
_COMPARISON = (*MEANINGS, *OPTIONS)


def check_schema() -> Schema:
    """Return the schema of a check that `page_state` or `state_diff` reads, or a grader of a plug-in.

    A check with keys that this package does not know is one of a plug-in, and is not looked at further.
    """
    of_page = [{"required": [kind]} for kind in PAGE_CHECKS]
    forms = [
        {"if": {"required": [kind]}, "then": _describe_form([kind, *form.beside], compares=form.compares)}
        for kind, form in PAGE_CHECKS.items()
    ]
    state = _describe_form(["path", "weight"], compares=True, values={"path": _NOT_BLANK})
    forms.append({"if": {"required": ["path"], "not": {"anyOf": of_page}}, "then": state})
    # It has to say what it looks at.
    known = {"propertyNames": {"enum": list(CHECK_KEYS)}}
    forms.append({"if": {"not": {"anyOf": [*of_page, {"required": ["path"]}]}}, "then": {"not": known}})
    return {"type": "object", "allOf": forms}


def _describe_form(
    keys: Iterable[str], *, compares: bool, values: Mapping[str, Schema] | None = None
) -> Schema:
    """Return the schema of checks that have these keys and no others."""
    values = {**_VALUES, **(values or {})}
    own = {key: _describe_text() if key in ("url", "title", "text") else values[key] for key in keys}
    rest = {key: values.get(key, {}) for key in _COMPARISON} if compares else {}
    properties = {key: {"description": CHECK_KEYS[key], **value} for key, value in {**own, **rest}.items()}
    return {"properties": properties, "additionalProperties": False, **(_COMPARES if compares else {})}


def _describe_text() -> Schema:
    """Return the schema of a text, or of a block with one comparison."""
    block = {key: {"description": CHECK_KEYS[key], **_VALUES.get(key, {})} for key in _COMPARISON}
    return {
        "anyOf": [_TEXT, {"type": "object", "properties": block, "additionalProperties": False, **_COMPARES}]
    }


def list_plain_graders(registry: Registry) -> list[str]:
    """Return the names of graders that read no checks but those of :func:`check_schema`.

    Others may read any: `command` hands all of them to a program, and a grader with graders inside may
    hold it.
    """
    reads = (ChecksRead(), PageStateGrader.reads, StateDiffGrader.reads)
    return [
        label
        for name, member, aliases in registry.members("grader")
        if issubclass(member, GraderConfig) and member.reads in reads and not _holds_graders(member)
        for label in (name, *aliases)
    ]


def _holds_graders(member: type[GraderConfig]) -> bool:
    return any("GraderConfig" in str(field.annotation) for field in member.model_fields.values())
