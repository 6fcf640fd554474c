"""Grades and messages without the reference answer of a protected task.

Benchmarks ask for it, so that no model ever learns their answers from a published run.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Callable

from pydantic import JsonValue

from pytest_browsereval.model.grades import GraderResult
from pytest_browsereval.model.tasks import Task
from pytest_browsereval.redaction.answers import compile_answer, list_texts
from pytest_browsereval.redaction.marks import WITHHELD
from pytest_browsereval.redaction.text import map_leaves

# Messages name these keys, and who corrects the row has to read them.
_NAMES = frozenset({"type", "name", "answer", "path", "query", "script", "evaluator", "eval_types"})


def mask_of(task: Task) -> Callable[[str], str]:
    """Return what takes the reference answer of a protected task out of a text; ``str`` for other tasks.

    It is found in any case and punctuation. Its numbers and longer words are also hidden one by one, since
    a judge may change their order, unless they are in the instruction.
    """
    pattern = compile_answer(task.answer, task.query) if task.protected else None
    return str if pattern is None else lambda text: pattern.sub(WITHHELD, unicodedata.normalize("NFC", text))


def hide_quotes(message: str, task: Task) -> str:
    """Return why a row is refused, without what a protected one expects: graders quote what they cannot use.

    The reference answer is hidden word by word; of what else judges the row, whole values in quotes.
    """
    if not task.protected:
        return message
    judging: list[JsonValue] = [task.rubric, *task.checks, *(task.effects or ()), *task.evals, *task.solution]
    judging += [milestone.check for milestone in task.milestones]
    blocks = (grader for grader in task.graders if isinstance(grader, dict))
    judging += [value for block in blocks for key, value in block.items() if key not in ("type", "name")]
    # Longest first: a short value inside a long one would leave the rest of it readable.
    for text in sorted(set(list_texts(judging)) - _NAMES, key=len, reverse=True):
        for quoted in (repr(text), json.dumps(text), json.dumps(text, ensure_ascii=False)):
            message = message.replace(quoted, WITHHELD)
    return mask_of(task)(message)


def mask_grade(result: GraderResult, task: Task) -> GraderResult:
    """Return a grade without the reference answer of a protected task."""
    mask = mask_of(task)
    # Most tasks are not protected, and a copy of each grade costs time.
    if mask is str:
        return result
    changes = {
        "reasoning": mask(result.reasoning),
        "criteria": tuple(
            criterion.model_copy(
                update={
                    "name": mask(criterion.name),
                    "reason": mask(criterion.reason),
                    "expected": _mask_value(criterion.expected, mask, with_numbers=True),
                    "actual": _mask_value(criterion.actual, mask, with_numbers=True),
                }
            )
            for criterion in result.criteria
        ),
        "details": {name: _mask_value(value, mask) for name, value in result.details.items()},
    }
    return result.model_copy(update=changes)


def _mask_value(value: JsonValue, mask: Callable[[str], str], *, with_numbers: bool = False) -> JsonValue:
    def mask_leaf(leaf: JsonValue) -> JsonValue:
        if isinstance(leaf, str):
            return mask(leaf)
        is_number = isinstance(leaf, int | float) and not isinstance(leaf, bool)
        # Counts in `details` stay: "3 of 4 checks" is not an answer.
        return WITHHELD if with_numbers and is_number and mask(str(leaf)) != str(leaf) else leaf

    masked_value: JsonValue = map_leaves(value, mask_leaf, mask)
    return masked_value
