"""The checks of REAL as its tasks write them, and what they say of a final state."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import JsonValue

from pytest_browsereval.errors import nearest
from pytest_browsereval.graders.criteria import make_criterion
from pytest_browsereval.graders.values import compile_path, fold, has_token, look_up, show
from pytest_browsereval.model.grades import Criterion
from pytest_browsereval.redaction.known import beginning

KINDS = {"jmespath": "query", "llm_boolean": "rubric", "script": "script"}
"""Kinds of checks, and the key that says what to look at."""

Strings = Literal["strict", "lenient"]
"""Whether an expected text may be a part of the actual one, in whole words and in any case."""

_SCRIPT = re.compile(r"[\w-]+\.py")


@dataclass(frozen=True)
class Check:
    """One check of a task."""

    kind: str
    subject: str
    """The query, the rubric, or the name of the script."""
    expected: JsonValue = True
    description: str = ""

    @property
    def title(self) -> str:
        """What a report calls it."""
        return beginning(self.description or self.subject, 160)


def read_checks(evals: Sequence[Mapping[str, Any]]) -> list[Check]:
    """Return the checks of a row's ``evals``.

    Raises:
        ValueError: there are none, or one is not of a form that REAL has.
    """
    if not evals:
        raise ValueError('the row has no "evals". Import it with `dataset: {type: agisdk}`.')
    return [_read_check(dict(entry)) for entry in evals]


def _read_check(entry: dict[str, Any]) -> Check:
    kind = str(entry.get("type") or ("script" if entry.get("script") else ""))
    if kind not in KINDS:
        known = f"{nearest(kind, KINDS)} Types: {', '.join(KINDS)}"
        raise ValueError(f"the eval {show(entry)} is of the type {kind!r}.{known}.")
    key, expected = KINDS[kind], entry.get("expected_value", True)
    subject = entry.get(key)
    if not isinstance(subject, str) or not subject.strip():
        raise ValueError(f"the eval {show(entry)} has no {key!r}; write it as a string.")
    if kind == "jmespath":
        compile_path(subject)
        if "expected_value" not in entry:
            raise ValueError(f"the eval {show(entry)} has no 'expected_value'; write what the query gives.")
    elif expected is not True:
        # A script and a question say yes or no, so another expectation is a mistake of the row.
        raise ValueError(f"the eval {show(entry)} expects something other than true. Write true.")
    if kind == "script" and not _SCRIPT.fullmatch(subject):
        raise ValueError(f"the script {show(subject)} is not a plain file name such as eval_omnizon_1.py.")
    return Check(kind, subject, expected, str(entry.get("description") or ""))


def reads_state(checks: Sequence[Check]) -> bool:
    """Whether any of the checks looks at the final state."""
    return any(check.kind != "llm_boolean" for check in checks)


def asks_model(checks: Sequence[Check]) -> bool:
    """Whether any of the checks is one for a model."""
    return any(check.kind == "llm_boolean" for check in checks)


def compare_check(check: Check, state: JsonValue) -> tuple[Criterion, Criterion]:
    """Return what a ``jmespath`` check says of a state, strict and lenient."""
    actual, problem = look_up(check.subject, state)
    # With Python's ==, under which 1 is true and 2.0 is 2: so the published scores were made.
    is_met = actual == check.expected
    are_texts = isinstance(actual, str) and isinstance(check.expected, str)
    holds = is_met or (are_texts and has_token(fold(str(check.expected)), fold(str(actual))))
    told = f"it is {show(actual, 80)}, not {show(check.expected, 80)}"
    strict, lenient = (
        make_criterion(check.title, problem or ("" if one else told), expected=check.expected, actual=actual)
        for one in (is_met, holds)
    )
    return strict, lenient


def read_verdict(lines: Sequence[str]) -> bool | None:
    """Return what a script of REAL printed last: SUCCESS or FAILURE; None for neither."""
    # Scripts print their reasons first, and those name both words.
    for line in reversed(lines):
        words = set(re.findall(r"\w+", line.upper()))
        if len(said := words & {"SUCCESS", "FAILURE"}) == 1:
            return said == {"SUCCESS"}
    return None
