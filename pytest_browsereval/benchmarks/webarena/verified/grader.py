"""``webarena_verified``: WebArena-Verified's typed evaluators, of the answer and of the recorded traffic."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, JsonValue, TypeAdapter, ValidationError

from pytest_browsereval.benchmarks.webarena.verified import comparing
from pytest_browsereval.benchmarks.webarena.verified.comparing import TEXT, Block, Schema
from pytest_browsereval.benchmarks.webarena.verified.events import read_events
from pytest_browsereval.benchmarks.webarena.verified.traffic import TrafficRules
from pytest_browsereval.capture.har import HAR_FILE
from pytest_browsereval.graders.base import GraderConfig, Recorded
from pytest_browsereval.graders.criteria import list_failed, make_criterion
from pytest_browsereval.graders.values import describe_invalid, read_json
from pytest_browsereval.model.grades import Criterion, GraderResult, Verdict
from pytest_browsereval.model.tasks import Task
from pytest_browsereval.model.traffic import Traffic
from pytest_browsereval.needs import Needs
from pytest_browsereval.redaction.known import beginning

_FENCED = re.compile(r"```(?:json)?\s*\n?(.*?)\n?```", re.DOTALL)


class ExpectedResponse(Block):
    """What a row expects of the answer."""

    task_type: str
    status: str
    retrieved_data: list[JsonValue] | None = None
    error_details: JsonValue = None


class ResponseRules(Block):
    """One ``AgentResponseEvaluator`` of a row."""

    evaluator: Literal["AgentResponseEvaluator"] = "AgentResponseEvaluator"
    ordered: bool = False
    results_schema: Schema
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
        self._data()

    def _data(self) -> Any:
        data = self.expected.retrieved_data
        return comparing.read_expected(data, self.results_schema) if data else None

    def criteria(self, answer: str | None) -> list[Criterion]:
        """Return what of an answer is right and wrong; blocks for patterns.

        Raises:
            Fault: a pattern takes too long.
        """
        given = read_answer(answer)
        if not isinstance(given, Mapping):
            message = "no answer was given" if given is None else "the answer is not a JSON object"
            return [make_criterion("answer", message, expected="a JSON object", actual=answer)]
        # The package knows the key by either name.
        given = {"task_type": given.get("performed_operation"), **given}
        found = []
        for name in ("task_type", "status"):
            word, actual = getattr(self.expected, name), given.get(name)
            seen = comparing.read_seen_value(TEXT, actual) if isinstance(actual, str) else None
            is_same = comparing.read_expected_value(TEXT, word).same(seen)
            said = beginning(repr(actual), 300)
            problem = "" if is_same else f"{name} is {said}, not {word!r}"
            found.append(make_criterion(name, problem, expected=word, actual=actual))
        if self.task_type == "retrieve":
            found.append(self._compare_data(given.get("retrieved_data")))
        return found

    def _compare_data(self, actual: Any) -> Criterion:
        expected = self._data()
        if not actual and not isinstance(actual, int | float):
            seen = None
        elif expected is None:
            seen = actual
        else:
            given = actual if isinstance(actual, list) else [actual]
            seen = comparing.read_seen(given, self.results_schema)
        found = comparing.differences(expected, seen, comparing.How(ordered=self.ordered), "retrieved_data")
        problem, wanted = beginning("; ".join(found), 1_000), comparing.plain(expected)
        return make_criterion("retrieved_data", problem, expected=wanted, actual=actual)


def read_answer(answer: str | None) -> Any:
    """Return the JSON of an answer, fenced or not; the text itself where it is none."""
    if answer is None or not answer.strip():
        return None
    fenced = _FENCED.search(answer)
    text = fenced[1].strip() if fenced else answer.strip()
    return read_json(text, text)


VERSION = 1

Rules = Annotated[ResponseRules | TrafficRules, Field(discriminator="evaluator")]
_RULES: TypeAdapter[list[ResponseRules | TrafficRules]] = TypeAdapter(list[Rules])


class WebArenaVerifiedGrader(GraderConfig):
    """Compares answer and network traffic with the row's ``evals``, as WebArena-Verified does.

    Every evaluator has to hold. The traffic is recorded where a row needs it, as ``network.har``.
    """

    type: Literal["webarena_verified"] = "webarena_verified"

    def check(self, task: Task, base_dir: Path) -> None:
        """Check that the row has evaluators that can be read.

        Raises:
            ValueError: with what is wrong.
        """
        for rules in self._rules(task):
            rules.check()

    def needs(self, task: Task) -> Needs:
        """Return what it looks at in the recorded traffic; nothing where it looks at the answer only."""
        try:
            rules = [rules for rules in self._rules(task) if isinstance(rules, TrafficRules)]
        except ValueError:  # `check` says what is wrong with them
            rules = []
        cookies = frozenset[str]().union(*(rule.cookies for rule in rules))
        return Needs(traffic=Traffic(any(rule.reads_replies for rule in rules), cookies) if rules else None)

    def _rules(self, task: Task) -> list[ResponseRules | TrafficRules]:
        try:
            rules = _RULES.validate_python(task.evals)
        except ValidationError as error:
            raise ValueError(f"evals.{describe_invalid(error)}.") from None
        if not any(isinstance(rule, ResponseRules) for rule in rules):
            how = "Rows of `dataset: {type: webarena-verified}` have one."
            raise ValueError(f"the grader {self.label!r} needs `evals` with an AgentResponseEvaluator. {how}")
        return rules

    async def grade(self, recorded: Recorded) -> GraderResult:
        """Judge the answer, and the traffic where the row has rules for it.

        Raises:
            Fault: the traffic was not recorded, or a pattern takes too long.
        """
        criteria = await asyncio.to_thread(self._criteria, recorded)
        failed = list_failed(criteria)
        looked_at = self.needs(recorded.task).traffic is not None
        return GraderResult(
            grader=self.label,
            verdict=Verdict.FAILED if failed else Verdict.PASSED,
            score=0.0 if failed else 1.0,
            reasoning="; ".join(f"{c.name}: {c.reason}" for c in failed)
            or "answer and requests are as expected",
            criteria=tuple(criteria),
            evidence=(HAR_FILE,) if looked_at else (),
            details={"revision": recorded.task.revision},
            fingerprint=self.fingerprint(VERSION, recorded.site_urls),
        )

    def _criteria(self, recorded: Recorded) -> list[Criterion]:
        rules = self._rules(recorded.task)
        kinds = [rule.task_type for rule in rules if isinstance(rule, ResponseRules)]
        needs_events = any(isinstance(rule, TrafficRules) for rule in rules)
        events = read_events(recorded.folder / HAR_FILE) if needs_events else []
        criteria: list[Criterion] = []
        for rule in rules:
            if isinstance(rule, ResponseRules):
                criteria += rule.criteria(recorded.final_answer)
            else:
                criteria.append(rule.criterion(events, is_navigation=kinds[0] == "navigate"))
        return criteria
