"""The text of a bad attempt: what a colleague would tell of it, from the run folder alone."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from pytest_browsereval.capture.message_log import read_messages
from pytest_browsereval.model.display import one_line, printable
from pytest_browsereval.model.grades import Criterion, GraderResult, Verdict
from pytest_browsereval.model.messages import (
    DelegationMessage,
    DelegationResultMessage,
    ToolCallMessage,
    ToolResultMessage,
)
from pytest_browsereval.model.results import TaskMetadata
from pytest_browsereval.model.usage import Usage

LAST_STEPS = 5
STEP_WIDTH = 100


def explain(metadata: TaskMetadata, folder: Path) -> str:
    """Return the report of an attempt: task, answer, grades with reasons, last steps, where to look.

    Args:
        metadata: of the attempt.
        folder: its folder, which the steps are read from.
    """
    return "\n".join(_lines(metadata, folder))


def _lines(metadata: TaskMetadata, folder: Path) -> Iterator[str]:
    source = f" ({metadata.error_source})" if metadata.error_source else ""
    yield f"{metadata.verdict}{source}: {printable(metadata.reason)}"
    yield ""
    yield f"task     {one_line(metadata.query)}"
    if metadata.start_url:
        yield f"started  {one_line(metadata.start_url)}"
    if metadata.final_url:
        yield f"ended    {one_line(metadata.final_url)}"
    answer = "none was given" if metadata.final_answer is None else repr(one_line(metadata.final_answer))
    yield f"answer   {answer}"
    took = metadata.total_duration_ms
    yield (
        f"agent    {one_line(str(metadata.agent_config.get('type', '?')))}, {metadata.total_steps} steps, "
        f"{'time not known' if took is None else f'{took / 1000:.1f} s'}, {metadata.termination_reason}"
    )
    if metadata.usage_by_role:
        yield "tokens   " + "; ".join(f"{role} {_used(u)}" for role, u in metadata.usage_by_role.items())
    for grade in metadata.grader_results.values():
        yield from _grade(grade)
    asked = {name: g.usage for name, g in metadata.grader_results.items() if g.usage.requests}
    if asked:
        yield "judges   " + "; ".join(f"{one_line(name)} {_used(usage)}" for name, usage in asked.items())
    for warning in metadata.warnings[-3:]:
        yield f"warning  {warning.source}: {one_line(warning.message)}"
    yield from _steps(folder)
    yield f"folder   {folder}"


def _used(usage: Usage) -> str:
    cost = "" if usage.cost_usd is None else f", ${usage.cost_usd:.4f}"
    return f"{usage.input_tokens:,} in, {usage.output_tokens:,} out{cost}"


def _grade(grade: GraderResult) -> Iterator[str]:
    score = "no score" if grade.score is None else f"score {grade.score:g}"
    name = f"{one_line(grade.grader)} (advisory)" if grade.advisory else one_line(grade.grader)
    yield f"grade    {name}: {grade.verdict}, {score}. {one_line(grade.reasoning)}"
    for criterion in grade.criteria:
        if criterion.verdict is not Verdict.PASSED:
            yield from _criterion(criterion, is_told=criterion.reason == grade.reasoning)


def _criterion(criterion: Criterion, *, is_told: bool) -> Iterator[str]:
    if not is_told:
        yield f"         - {one_line(criterion.name)}: {criterion.verdict}. {one_line(criterion.reason)}"
    if criterion.expected is not None or criterion.actual is not None:
        yield f"           expected {_value(criterion.expected)}"
        yield f"           actual   {_value(criterion.actual)}"


def _steps(folder: Path) -> Iterator[str]:
    messages = list(read_messages(folder))
    ends = {m.executor_id: m for m in messages if isinstance(m, DelegationResultMessage)}
    for goal in [m for m in messages if isinstance(m, DelegationMessage)][-LAST_STEPS:]:
        yield f"goal     {one_line(f'{goal.executor_id}: {_ended(goal, ends.get(goal.executor_id))}')}"
    results = {m.tool_call_id: m for m in messages if isinstance(m, ToolResultMessage)}
    calls = [m for m in messages if isinstance(m, ToolCallMessage)]
    if calls:
        shown = calls[-LAST_STEPS:]
        yield f"steps    the last {len(shown)} of {len(calls)}"
    for number, call in list(enumerate(calls, 1))[-LAST_STEPS:]:
        result = results.get(call.tool_call_id)
        arguments = ", ".join(f"{name}={_value(value)}" for name, value in call.params.items())
        line = f"         {number}. {call.tool}({one_line(arguments, 80)}) → {_outcome(result)}"
        yield one_line(line, STEP_WIDTH)


def _ended(goal: DelegationMessage, end: DelegationResultMessage | None) -> str:
    if end is None:
        return f"not over when the attempt ended. It was to: {goal.instruction}"
    return f"{end.status}, {end.steps_used} steps. {end.summary}"


def _outcome(result: ToolResultMessage | None) -> str:
    if result is None:
        return "no result"
    output = result.result.get("output", "") if isinstance(result.result, dict) else result.result
    first = str(output).partition("\n")[0]
    return ("error: " if result.is_error else "") + one_line(first, 100)


def _value(value: object) -> str:
    return one_line(json.dumps(value, ensure_ascii=False))
