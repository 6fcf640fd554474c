"""Compares the agent's answer with the row: ``AgentResponseEvaluator``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, JsonValue

from pytest_browsereval.benchmarks.webarena.verified.comparing import (
    check_schema,
    differences,
    make_criterion,
    plain,
    read_expected,
    read_seen,
)
from pytest_browsereval.benchmarks.webarena.verified.kinds import TEXT, read_expected_value, read_seen_value
from pytest_browsereval.graders.values import is_deep, read_json
from pytest_browsereval.model.grades import Criterion

NAME = "AgentResponseEvaluator"

_FENCED = re.compile(r"```(?:json)?\s*\n?(.*?)\n?```", re.DOTALL)


class ExpectedResponse(BaseModel):
    """What a row expects of the answer."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    task_type: str
    status: str
    retrieved_data: list[JsonValue] | None = None
    error_details: JsonValue = None


class ResponseRules(BaseModel):
    """One ``AgentResponseEvaluator`` of a row."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    evaluator: str = NAME
    ordered: bool = False
    results_schema: dict[str, JsonValue]
    expected: ExpectedResponse

    @property
    def task_type(self) -> str:
        """``retrieve``, ``mutate`` or ``navigate``."""
        return self.expected.task_type.lower()

    def check(self) -> None:
        """Check that the expectation can be read.

        Raises:
            ValueError: with what is wrong.
        """
        check_schema(self.results_schema)
        self._data()

    def _data(self) -> Any:
        data = self.expected.retrieved_data
        return read_expected(data, self.results_schema) if data else None

    def criteria(self, answer: str | None) -> list[Criterion]:
        """Return what of an answer is right and wrong; blocks for patterns.

        Raises:
            Fault: a pattern takes too long.
        """
        given = read_answer(answer)
        if not isinstance(given, Mapping):
            message = "no answer was given" if given is None else "the answer is not a JSON object"
            return [make_criterion("answer", "a JSON object", answer, message)]
        # The package knows the key by either name.
        given = {"task_type": given.get("performed_operation"), **given}
        found = [self._word(name, given.get(name)) for name in ("task_type", "status")]
        if self.task_type == "retrieve":
            found.append(self._compare_data(given.get("retrieved_data")))
        return found

    def _word(self, name: str, actual: Any) -> Criterion:
        expected = getattr(self.expected, name)
        seen = read_seen_value(TEXT, actual) if isinstance(actual, str) else None
        is_same = seen is not None and read_expected_value(TEXT, expected).same(seen)
        problem = "" if is_same else f"{name} is {actual!r}, not {expected!r}"
        return make_criterion(name, expected, actual, problem)

    def _compare_data(self, actual: Any) -> Criterion:
        expected = self._data()
        if not actual and not isinstance(actual, int | float):
            seen = None
        elif expected is None:
            seen = actual
        else:
            seen = read_seen(actual if isinstance(actual, list) else [actual], self.results_schema)
        found = differences(expected, seen, ordered=self.ordered, path="retrieved_data")
        return make_criterion("retrieved_data", plain(expected), actual, "; ".join(found))


def read_answer(answer: str | None) -> Any:
    """Return the JSON of an answer, fenced or not; the text itself where it is none."""
    if answer is None or not answer.strip():
        return None
    fenced = _FENCED.search(answer)
    text = fenced[1].strip() if fenced else answer.strip()
    value = read_json(text, text)
    return text if is_deep(value) else value
