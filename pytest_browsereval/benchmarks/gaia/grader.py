"""``gaia``: the final answer equals the reference once both are normalised, as GAIA scores."""

from __future__ import annotations

import math
import re
import string
from pathlib import Path
from typing import Literal

from pytest_browsereval.graders.base import GraderConfig, Recorded
from pytest_browsereval.graders.criteria import make_criterion
from pytest_browsereval.graders.values import show
from pytest_browsereval.model.grades import GraderResult
from pytest_browsereval.model.tasks import Task

_PUNCTUATION = str.maketrans("", "", string.punctuation)
_UNITS = str.maketrans("", "", "$%,")
# GAIA tells agents to end with this; some give it as a part of the answer.
_PREFIX = "final answer:"


class GaiaGrader(GraderConfig):
    """Compares the final answer with the row's ``answer``: as a number, as a list or as text.

    The reference decides. A number: currency, percent and thousands signs do not count. A list, with commas
    or semicolons: as many items in the same order. Text: neither case, blanks nor punctuation count.
    """

    type: Literal["gaia"] = "gaia"

    def check(self, task: Task, base_dir: Path) -> None:
        """Check that the row has a reference.

        Raises:
            ValueError: with what to write.
        """
        reference = task.answer
        is_one = isinstance(reference, str | int | float) and not isinstance(reference, bool)
        if not is_one or not str(reference).strip() or str(reference).strip() == "?":
            why = "those of GAIA's test rows are not published: use the validation rows"
            raise ValueError(f"the answer is {show(reference)}, not a string or a number; {why}.")

    async def grade(self, recorded: Recorded) -> GraderResult:
        """Compare the final answer with the reference."""
        reference, answer = str(recorded.task.answer).strip(), (recorded.final_answer or "").strip()
        if answer.casefold().startswith(_PREFIX):
            answer = answer[len(_PREFIX) :].strip()
        kind, reason = _mismatch(reference, answer)
        if not answer:
            reason = "no answer was given"
        criterion = make_criterion(
            f"answer ({kind})", reason, expected=recorded.task.answer, actual=recorded.final_answer
        )
        return GraderResult(
            grader=self.label,
            verdict=criterion.verdict,
            score=0.0 if reason else 1.0,
            reasoning=reason or "the answer is the reference",
            criteria=(criterion,),
            details={"is_answered": bool(answer), "kind": kind},
            fingerprint=self.fingerprint(1, recorded.site_urls),
        )


def _mismatch(reference: str, answer: str) -> tuple[str, str]:
    """Return what kind of answer the reference is, and why the answer is not it, "" if it is."""
    if _is_number(reference):
        is_same = _number(answer) == float(reference)
        return "number", "" if is_same else f"the answer {show(answer, 200)} is not that number"
    # A comma makes a list, thousands and all: so the benchmark's scorer has it.
    if "," in reference or ";" in reference:
        return "list", _list_mismatch(re.split("[,;]", reference), re.split("[,;]", answer))
    if _text(reference) == _text(answer):
        return "text", ""
    return "text", f"the answer {show(answer, 200)} is not the reference"


def _list_mismatch(wanted: list[str], given: list[str]) -> str:
    if len(wanted) != len(given):
        return f"the answer is a list of {len(given)} items, not {len(wanted)}"
    for place, (one, other) in enumerate(zip(wanted, given, strict=True), 1):
        if _is_number(one):
            is_same = _number(other) == float(one)
        else:
            is_same = _text(one, keep_punctuation=True) == _text(other, keep_punctuation=True)
        if not is_same:
            return f"item {place} of the answer, {show(other.strip(), 100)}, does not match"
    return ""


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def _number(text: str) -> float | None:
    plain = text.translate(_UNITS)
    return float(plain) if _is_number(plain) else None


def _text(text: str, *, keep_punctuation: bool = False) -> str:
    plain = re.sub(r"\s", "", text).lower()
    return plain if keep_punctuation else plain.translate(_PUNCTUATION)
