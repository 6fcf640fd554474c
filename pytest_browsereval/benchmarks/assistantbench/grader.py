"""``assistantbench``: how close the final answer is to the reference, as AssistantBench scores."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, JsonValue

from pytest_browsereval.benchmarks.assistantbench import closeness
from pytest_browsereval.graders.base import GraderConfig, Recorded
from pytest_browsereval.graders.criteria import make_criterion
from pytest_browsereval.graders.values import TEXT_LIMIT, read_json, show
from pytest_browsereval.model.grades import GraderResult
from pytest_browsereval.model.tasks import Task
from pytest_browsereval.redaction.known import beginning

_ROUNDING = 1e-9
ITEMS_LIMIT = 200
"""Of an answer no more items are paired: the time for it grows with the third power."""

Kind = Literal["number", "blocks", "texts"]


class AssistantBenchGrader(GraderConfig):
    """Scores the final answer by the kind of the row's ``answer``: number, text, list of texts, JSON objects.

    A reference of several lines is a list. Whether the agent answered is separate from how well it answered:
    the benchmark reports both rates.
    """

    type: Literal["assistantbench"] = "assistantbench"

    pass_at: float = Field(default=1.0, gt=0, le=1)
    """The score to pass with; the benchmark itself reports the mean score and sets no pass mark."""

    def check(self, task: Task, base_dir: Path) -> None:
        """Check that the row has a reference.

        Raises:
            ValueError: with what to write.
        """
        lines = _lines(task.answer)
        if not lines or not all(isinstance(line, str) for line in lines):
            why = "those of AssistantBench's test rows are not published: use its validation rows"
            raise ValueError(f"the answer is {show(task.answer)}, not a string or a list of strings; {why}.")

    async def grade(self, recorded: Recorded) -> GraderResult:
        """Compare the final answer with the reference."""
        lines = _lines(recorded.task.answer)
        is_answered, score, kind = score_answer(beginning(recorded.final_answer or "", TEXT_LIMIT), lines)
        is_passed = is_answered and score >= self.pass_at - _ROUNDING
        message = f"accuracy {score:.3f}, compared as {kind}; {self.pass_at:g} passes"
        criterion = make_criterion(
            f"answer ({kind})",
            "" if is_passed else message,
            expected=recorded.task.answer,
            actual=recorded.final_answer,
        )
        return GraderResult(
            grader=self.label,
            verdict=criterion.verdict,
            score=score,
            reasoning=message if is_answered else "no answer was given",
            criteria=(criterion,),
            details={"is_answered": is_answered, "accuracy": score, "kind": kind, "pass_at": self.pass_at},
            fingerprint=self.fingerprint(1, recorded.site_urls),
        )


def score_answer(answer: str, lines: list[str]) -> tuple[bool, float, Kind]:
    """Return whether an answer is one, how close it is to the reference, and what they were compared as.

    Args:
        answer: the final answer; JSON is read as that.
        lines: of the reference.
    """
    kind, wanted = _reference(lines)
    given = read_json(answer)
    given = closeness.read_number(answer if given is None or isinstance(given, bool) else given)
    if kind == "blocks" and not isinstance(given, list):
        given = _read_lines(given)
    # Agents like to wrap a single value in a list.
    if isinstance(given, list) and len(given) == 1 and kind == "number":
        given = closeness.read_number(given[0])
    if _is_empty(given):
        return False, 0.0, kind
    if kind == "number":
        return True, closeness.number_score(given, wanted) if isinstance(given, float) else 0.0, kind
    if isinstance(given, list) and len(given) > ITEMS_LIMIT:
        return True, 0.0, kind
    score = (
        closeness.score_pairs(given, wanted, closeness.block_score)
        if kind == "blocks"
        else closeness.text_score(given, wanted)
    )
    return True, score, kind


def _reference(lines: list[str]) -> tuple[Kind, Any]:
    if len(lines) == 1 and isinstance(number := closeness.read_number(lines[0]), float):
        return "number", number
    blocks = [_block(line) for line in lines]
    if all(isinstance(block, dict) for block in blocks):
        return "blocks", blocks
    return "texts", lines[0] if len(lines) == 1 else lines


def _block(line: str) -> Any:
    """Return the JSON value of a line, which may be quoted as Python does."""
    # The published references hold Python's quotes, and the benchmark reads them like this.
    for old, new in (("{'", '{"'), ("', '", '", "'), ("': '", '": "'), ("'}", '"}'), ("': ", '": ')):
        line = line.replace(old, new)
    return read_json(line)


def _read_lines(given: Any) -> list[Any]:
    """Return the blocks that an answer's lines are; the answer alone where one line is none."""
    if isinstance(given, str):
        blocks = [read_json(line) for line in given.split("\n")]
        if all(block is not None for block in blocks):
            return blocks
    return [given]


def _is_empty(given: Any) -> bool:
    if isinstance(given, float):
        return math.isnan(given)
    if isinstance(given, list):
        return all(_is_empty(item) for item in given)
    return given is None or (isinstance(given, str | dict) and not given)


def _lines(answer: JsonValue) -> list[Any]:
    """Return the lines of a reference, which may be a list already."""
    if isinstance(answer, list):
        return answer
    if isinstance(answer, bool) or not isinstance(answer, str | int | float):
        return []
    return [line for line in str(answer).split("\n") if line.strip()]
