"""The text of a bad attempt: what a colleague would tell of it, from the run folder alone."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from pydantic import ValidationError

from pytest_browsereval.model.display import one_line, printable
from pytest_browsereval.model.grades import Criterion, GraderResult, Verdict
from pytest_browsereval.model.messages import (
    Message,
    ToolCallMessage,
    ToolResultMessage,
    message_adapter,
)
from pytest_browsereval.model.results import TaskMetadata

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
    yield (
        f"agent    {one_line(str(metadata.agent_config.get('type', '?')))}, {metadata.total_steps} steps, "
        f"{metadata.total_duration_ms / 1000:.1f} s, {metadata.termination_reason}"
    )
    for grade in metadata.grader_results.values():
        yield from _grade(grade)
    for warning in metadata.warnings[-3:]:
        yield f"warning  {warning.source}: {one_line(warning.message)}"
    yield from _steps(folder)
    yield f"folder   {folder}"


def _grade(grade: GraderResult) -> Iterator[str]:
    score = "no score" if grade.score is None else f"score {grade.score:g}"
    yield f"grade    {one_line(grade.grader)}: {grade.verdict}, {score}. {one_line(grade.reasoning)}"
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


def _outcome(result: ToolResultMessage | None) -> str:
    if result is None:
        return "no result"
    output = result.result.get("output", "") if isinstance(result.result, dict) else result.result
    first = str(output).partition("\n")[0]
    return ("error: " if result.is_error else "") + one_line(first, 100)


def read_messages(folder: Path) -> Iterator[Message]:
    """Yield the messages of an attempt; a last line that was cut by a kill is left out."""
    try:
        lines = (folder / "messages.jsonl").read_bytes().split(b"\n")
    except OSError:
        return
    for line in lines:
        try:
            yield message_adapter.validate_json(line)
        except ValidationError:
            return


def _value(value: object) -> str:
    return one_line(json.dumps(value, ensure_ascii=False))
