"""The recorded steps of an attempt: facts from its message log, in order, for judges in one line each."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from pytest_browsereval.features.shared.judging.judge import Given
from pytest_browsereval.graders.base import Recorded
from pytest_browsereval.graders.values import read_json
from pytest_browsereval.redaction.known import beginning
from pytest_browsereval.runs.turns import StoredStep, read_steps


def has_succeeded(step: StoredStep) -> bool | None:
    """Return whether a step succeeded, by ``ok`` of its result too; None if the attempt ended before that."""
    if step.result is None:
        return None
    given = step.result.result
    result = read_json(given) if isinstance(given, str) else given
    return not step.result.is_error and not (isinstance(result, dict) and result.get("ok") is False)


def describe_call(step: StoredStep, limit: int = 100) -> str:
    """Return a step in one line: tool, arguments each cut at the limit, and if it failed."""
    arguments = ", ".join(f"{name}={_cut(value, limit)}" for name, value in step.call.params.items())
    failed = " -> no result" if step.result is None else " -> failed" if step.result.is_error else ""
    return f"{step.call.tool}({arguments}){failed}"


def _cut(value: Any, limit: int) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= limit else f"{beginning(text, limit)}..."


# -- as a judge reads them

ARGUMENT = 100
"""Characters of one argument of an action that a judge reads."""

ARGUMENTS = 30_000
"""The same of one argument of all actions together, for the same reason as with results."""

RESULT = 300
"""Characters of an action's result that a judge reads, where it reads results."""

RESULTS = 20_000
"""Characters of all results together: in a long attempt each is shorter, so that no action is left out."""


def load_steps(recorded: Recorded) -> list[StoredStep]:
    """Return the tool calls of an attempt.

    Raises:
        Fault: source *grader*; nothing was recorded, so that it is not known what the agent did.
    """
    return read_steps(recorded.messages)


def give_actions(steps: Sequence[StoredStep], *, results: bool = False, argument: int = ARGUMENT) -> Given:
    """Return the actions of an attempt for a judge.

    Args:
        steps: the tool calls.
        results: include the beginning of what each action returned.
        argument: the most characters of one argument.
    """
    # Shorter texts for longer attempts: the whole has to fit into the judge's context.
    count = max(1, len(steps))
    limit = min(RESULT, RESULTS // count) if results else 0
    argument = min(argument, ARGUMENTS // count)
    lines, page = [], None
    for step in steps:
        # The address is named when it changes: repeated in each line it would bury the actions.
        parts = [f"{step.number}. {describe_call(step, argument)}"]
        result, text = step.result, step.output
        if result and result.url and result.url != page:
            page = result.url
            parts.append(f"page {json.dumps(page)}")
        if result and result.screenshot is not None:
            parts.append(f"picture {result.screenshot}")
        if limit and text:
            shown = text if len(text) <= limit else f"{beginning(text, limit)}..."
            parts.append(f"returned {json.dumps(shown, ensure_ascii=False)}")
        # In exactly one line, even if names, addresses or results have line breaks.
        lines.append(join_lines(" | ".join(parts)))
    return Given("actions of the agent", "\n".join(lines) or "(no tool was called)")


def join_lines(text: str) -> str:
    """Return a text without line breaks: one would let an agent or a page write what never happened."""
    return " ".join(text.split())
