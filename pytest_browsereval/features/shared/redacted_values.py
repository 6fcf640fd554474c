"""Values that are recorded with ``[redacted]`` in the place of a secret."""

from __future__ import annotations

import json

from pydantic import JsonValue

from pytest_browsereval.graders.comparators import Comparator
from pytest_browsereval.redaction.marks import MARK


def is_decided(wanted: Comparator, value: JsonValue) -> bool:
    """Return whether a comparison says the same of a value as of the one with its secrets."""
    if MARK not in json.dumps([value, wanted.expected], default=str):
        return True
    # What stands before or after a secret is known.
    is_text = wanted.kind == "contains" and isinstance(value, str)
    return is_text and not wanted.problem(str(value).replace(MARK, "\x00"), "strict")
