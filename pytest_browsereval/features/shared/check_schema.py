"""The JSON schema of a row's check, from the tables that graders read checks by."""

from __future__ import annotations

from typing import Any

from pytest_browsereval.graders.comparators import MEANINGS, OPTIONS
from pytest_browsereval.graders.page_checks import BESIDE, list_page_checks

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
    """Return the schema of a check: its keys, and the types of their values where it is one of this package.

    Which keys go together, and that one is unknown, the run says: graders of plug-ins read others.
    """
    subjects = [{"required": [kind]} for kind in (*_FORMS, "path")]
    values = {key: {"description": text, **_VALUES.get(key, {})} for key, text in CHECK_KEYS.items()}
    return {"type": "object", "if": {"anyOf": subjects}, "then": {"properties": values}}
