"""Failure message of an attempt, made from its run folder."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from pytest_browsereval.capture.tracebacks import shorten, tracebacks
from pytest_browsereval.model.causes import Cause
from pytest_browsereval.model.display import format_count, one_line, printable, width_of, wrap_text
from pytest_browsereval.model.grades import GraderResult, Verdict
from pytest_browsereval.model.messages import DelegationMessage, DelegationResultMessage
from pytest_browsereval.model.results import TaskMetadata
from pytest_browsereval.model.usage import Usage
from pytest_browsereval.runs.folder import read_messages
from pytest_browsereval.runs.turns import StoredStep, read_steps

LAST_STEPS = 5
STEP_WIDTH = 100
# Characters of a line of a traceback: some hold a whole page.
LONGEST_LINE = 500
# What stands before the text of a line: a label, a dash, or a word of a criterion.
_START = re.compile(r"(?=\S{1,8} {2,}).{9}| {9}(?:- |\d+\. )| {11}(?:expected|actual  ) | *")

# The end of a traceback says what went wrong, so the beginning is cut.
MOST_LINES = 60


def explain(
    metadata: TaskMetadata,
    folder: Path,
    style: str = "auto",
    cause: Cause | None = None,
    *,
    end: str = "",
    row: str = "",
    here: Path | None = None,
    width: int = 0,
) -> str:
    """Return the report of an attempt: why it is bad, task, answer, grades, where to look, steps, tracebacks.

    The reason is the first line, and no line repeats it.

    Args:
        metadata: of the attempt.
        folder: its folder, which the steps are read from.
        style: of tracebacks, as ``--tb`` has it.
        cause: why it did not pass, if that is known.
        end: what :func:`describe_end` returns, if it was asked already.
        row: file and line of the row.
        here: the folder that paths are shown from.
        width: columns that lines are wrapped to; 0 wraps none. Tracebacks and the folder keep their lines.
    """
    end = end or describe_end(metadata, folder)
    if style == "line":
        return end.partition("\n")[0]
    known = [f"cause    {one_line(cause.describe(), 400)}"] if cause and not metadata.error_source else []
    if metadata.known_way and metadata.known_way != metadata.reason:
        known.append(f"way      {one_line(metadata.known_way, 400)}")
    lines = "\n".join((end, *_lines(metadata, folder, known, row, here))).split("\n")
    fitted = lines if not width else [part for line in lines for part in _wrap(line, width)]
    return "\n".join((*fitted, *_tracebacks(metadata, style)))


def _wrap(line: str, width: int) -> Iterator[str]:
    """Yield a line in parts, each below its text and not below its label."""
    start = _START.match(line)
    if width_of(line) <= width or start is None or start[0].startswith("folder"):  # a path is copied
        yield line
        return
    room = max(width - len(start[0]), 20)
    parts = wrap_text(line[start.end() :], room, "")
    for place, part in enumerate(parts):
        yield (start[0] if place == 0 else " " * len(start[0])) + part


def describe_end(metadata: TaskMetadata, folder: Path) -> str:
    """Return what an attempt has come to, and why; the first line alone is enough for a list."""
    idle = _find_nothing_hit(folder) if metadata.verdict is Verdict.FAILED else ""
    source = f" ({metadata.error_source})" if metadata.error_source else ""
    return printable(f"{metadata.verdict}{source}: {idle}{metadata.reason}")


def _lines(
    metadata: TaskMetadata, folder: Path, known: Iterable[str], row: str, here: Path | None
) -> Iterator[str]:
    yield ""
    shown = folder.relative_to(here) if here and folder.is_relative_to(here) else folder
    took, kind = metadata.total_duration_ms, one_line(str(metadata.agent_config.get("type", "?")))
    time = "time not known" if took is None else f"{took / 1000:.1f} s"
    steps = format_count(metadata.total_steps, "step")
    facts = {
        "task": one_line(metadata.query),
        "row": row,
        "folder": str(shown),  # not at the end, where readers look for the reason
        "started": one_line(metadata.start_url or ""),
        "ended": one_line(metadata.final_url or ""),
        "answer": "(none)" if metadata.final_answer is None else repr(one_line(metadata.final_answer)),
        "agent": f"{kind}, {steps}, {time}, {metadata.termination_reason}",
    }
    yield from (f"{name:<9}{text}" for name, text in facts.items() if text)
    yield from known
    if metadata.usage_by_role:
        yield f"tokens   {_format_usages(metadata.usage_by_role)}"
    for grade in metadata.grader_results.values():
        yield from _grade(grade, metadata.reason)
    asked = {name: g.usage for name, g in metadata.grader_results.items() if g.usage.requests}
    if asked:
        yield f"judges   {_format_usages(asked)}"
    for warning in metadata.warnings[-3:]:
        # The reason of an error is often a warning as well.
        if not _is_said(warning.message, metadata.reason):
            yield f"warning  {warning.source}: {one_line(warning.message)}"
    yield from _steps(folder)


def _is_said(text: str, *said: str) -> bool:
    return bool(text.strip()) and any(text.strip() in one for one in said)


def _format_usages(usages: Mapping[str, Usage]) -> str:
    costs = {name: "" if one.cost_usd is None else f", ${one.cost_usd:.4f}" for name, one in usages.items()}
    return "; ".join(
        f"{one_line(name)} {one.input_tokens:,} in, {one.output_tokens:,} out{costs[name]}"
        for name, one in usages.items()
    )


def _grade(grade: GraderResult, reason: str) -> Iterator[str]:
    score = "no score" if grade.score is None else f"score {grade.score:g}"
    name = f"{one_line(grade.grader)} (advisory)" if grade.advisory else one_line(grade.grader)
    first, _, rest = grade.reasoning.strip().partition("\n")
    why = one_line(rest.strip() if _is_said(first, reason) else grade.reasoning.strip())
    yield f"grade    {name}: {grade.verdict}, {score}{f'. {why}' if why else ''}"
    criteria = [criterion for criterion in grade.criteria if criterion.verdict is not Verdict.PASSED]
    for criterion in criteria:
        why = "" if _is_said(criterion.reason, reason, grade.reasoning) else one_line(criterion.reason)
        if why or len(criteria) > 1:
            message = f"{criterion.verdict}. {why}" if why else criterion.verdict
            yield f"         - {one_line(criterion.name)}: {message}"
        if criterion.expected is not None or criterion.actual is not None:
            yield f"           expected {_value(criterion.expected)}"
            yield f"           actual   {_value(criterion.actual)}"


def _tracebacks(metadata: TaskMetadata, style: str) -> Iterator[str]:
    """Yield the tracebacks of the attempt's code and of its graders'."""
    if style == "no":
        return
    found = [(str(one.source), text) for one in metadata.errors for text in tracebacks([one.details])]
    grades = metadata.grader_results.items()
    found += [(f"grader {name}", text) for name, grade in grades for text in tracebacks([grade.details])]
    for who, text in found:
        yield ""
        yield f"traceback of the {one_line(who)}"
        lines = list(shorten(text, Path.cwd()) if style in ("auto", "short") else text.splitlines())
        if len(lines) > MOST_LINES:
            yield f"… {format_count(len(lines) - MOST_LINES, 'line')} before"
        for line in lines[-MOST_LINES:]:
            yield one_line(line, LONGEST_LINE).rstrip()


def _steps(folder: Path) -> Iterator[str]:
    messages = list(read_messages(folder))
    ends = {m.executor_id: m for m in messages if isinstance(m, DelegationResultMessage)}
    for goal in [m for m in messages if isinstance(m, DelegationMessage)][-LAST_STEPS:]:
        yield f"goal     {one_line(f'{goal.executor_id}: {_describe_end(goal, ends.get(goal.executor_id))}')}"
    steps = read_steps(messages)
    if steps:
        yield f"steps    the last {len(steps[-LAST_STEPS:])} of {len(steps)}"
    for step in steps[-LAST_STEPS:]:
        arguments = ", ".join(f"{name}={_value(value)}" for name, value in step.call.params.items())
        line = f"         {step.number}. {step.call.tool}({one_line(arguments, 80)}) → {_outcome(step)}"
        yield one_line(line, STEP_WIDTH)


def _find_nothing_hit(folder: Path) -> str:
    """Return what the first call said, if none of those with a target has found it; else ``""``."""
    said = [_outcome(one) for one in read_steps(read_messages(folder)) if one.call.params.get("target")]
    if not said or not all("Nothing matches" in one for one in said):
        return ""
    return f"the agent found none of its {format_count(len(said), 'target')}. {said[0][len('error: ') :]} "


def _describe_end(goal: DelegationMessage, end: DelegationResultMessage | None) -> str:
    if end is None:
        return f"not over when the attempt ended. The goal: {goal.instruction}"
    return f"{end.status}, {format_count(end.steps_used, 'step')}. {end.summary}"


def _outcome(step: StoredStep) -> str:
    if step.result is None:
        return "no result"
    first = step.output.partition("\n")[0]
    return ("error: " if step.result.is_error else "") + one_line(first, 100)


def _value(value: object) -> str:
    return one_line(json.dumps(value, ensure_ascii=False))
