"""The JSON schema of a row's check, from the tables that graders read checks by."""

from __future__ import annotations

from typing import Any

from pytest_browsereval.graders.base import GraderConfig
from pytest_browsereval.graders.comparators import MEANINGS, OPTIONS
from pytest_browsereval.graders.page_checks import BESIDE, list_page_checks
from pytest_browsereval.graders.page_state import PageStateGrader
from pytest_browsereval.graders.state_diff import StateDiffGrader
from pytest_browsereval.needs import ChecksRead
from pytest_browsereval.registry import Registry

Schema = dict[str, Any]

_FORMS = list_page_checks()
CHECK_KEYS = {
    **{kind: form.about for kind, form in _FORMS.items()},
    **{key: text for form in _FORMS.values() for key, text in form.keys.items()},
    **BESIDE,
    **MEANINGS,
    **{option: text for option, (_, text) in OPTIONS.items()},
}
"""The keys of checks that the graders of this package read, each with its description."""

_SHAPES: tuple[tuple[str, Schema], ...] = (
    ("role js storage regex", {"type": "string", "minLength": 1}),
    ("url title text", {"type": ["string", "object"], "minLength": 1}),
    ("name path", {"type": ["string", "null"]}),
    ("number min max tolerance", {"type": "number"}),
    ("one_of set_equals", {"type": "array"}),
    ("exists day_first not", {"type": "boolean"}),
    ("count", {"type": ["integer", "null"], "minimum": 0}),
    ("weight", {"type": "number", "exclusiveMinimum": 0}),
)
_VALUES = {key: shape for keys, shape in _SHAPES for key in keys.split()}
_VALUES |= {key: shape for form in _FORMS.values() for key, shape in form.schema.items()}


def check_schema() -> Schema:
    """Return the schema of a check that `page_state` or `state_diff` reads, or a grader of a plug-in.

    It knows keys and the types of values; which keys go together the run says. A check that has none of what
    this package looks at is one of a plug-in.
    """
    subjects = [{"required": [kind]} for kind in (*_FORMS, "path")]
    known = {"propertyNames": {"enum": list(CHECK_KEYS)}}
    properties = {key: {"description": text, **_VALUES.get(key, {})} for key, text in CHECK_KEYS.items()}
    return {
        "type": "object",
        "properties": properties,
        "if": {"anyOf": subjects},
        "then": known,
        "else": {"not": known},
    }


def list_plain_graders(registry: Registry) -> list[str]:
    """Return the names of graders that read no checks but those of :func:`check_schema`.

    Others may read any: `command` hands all of them to a program, and a grader with graders inside may
    hold it.
    """
    reads = (ChecksRead(), PageStateGrader.reads, StateDiffGrader.reads)
    return [
        label
        for family, name, member, aliases in registry.everything()
        if family == "grader"
        and issubclass(member, GraderConfig)
        and member.reads in reads
        and not _holds_graders(member)
        for label in (name, *aliases)
    ]


def _holds_graders(member: type[GraderConfig]) -> bool:
    return any("GraderConfig" in str(field.annotation) for field in member.model_fields.values())
