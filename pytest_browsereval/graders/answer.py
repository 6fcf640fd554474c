"""``answer``: compares the agent's final answer with the row's reference, without a model."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Literal

from pydantic import Field, JsonValue

from pytest_browsereval.graders.base import GraderConfig, GraderFault, Recorded
from pytest_browsereval.graders.comparators import check_date, is_close, is_same
from pytest_browsereval.graders.criteria import make_criterion
from pytest_browsereval.graders.dates import Moment, find_dates, may_name, read_date
from pytest_browsereval.graders.lists import pick_items, split_items
from pytest_browsereval.graders.numbers import find_numbers, read_number
from pytest_browsereval.graders.patterns import check_pattern, has_match
from pytest_browsereval.graders.values import TEXT_LIMIT, drop_markdown, fold, has_token, show, unify_signs
from pytest_browsereval.model.grades import GraderResult
from pytest_browsereval.model.tasks import Task
from pytest_browsereval.redaction.known import beginning, redact_known
from pytest_browsereval.redaction.marks import MARK


class AnswerGrader(GraderConfig):
    """Compares the final answer with the reference; several acceptable ones are a list in the row."""

    type: Literal["answer"] = "answer"

    match: Literal["exact", "includes", "regex", "number", "date", "set"] = "exact"
    """How: ``exact`` after trimming, single blanks, NFKC, plain quotes and dashes, and case-folding;
    ``includes`` the reference as whole words; ``regex`` matches anywhere; ``number`` and ``date`` are the
    answer or the only one in it; ``set`` is a list in any order."""
    case_sensitive: bool = False
    """Whether letters in upper and lower case differ."""
    tolerance: float = Field(default=0.0, ge=0)
    """How far off a ``number`` may be."""
    day_first: bool | None = None
    """Whether 03/04/2025 is in April. By default it is in March, and a right answer in April is errored."""
    reference: JsonValue = None
    """Stands in for the row's ``answer``."""
    allow_possible: bool = False
    """Match even answers that the dataset calls *possible*: one of many that would be right."""

    def check(self, task: Task, base_dir: Path) -> None:
        """Check that the row has a reference that this way of matching can use.

        Raises:
            ValueError: with what to write.
        """
        answer_type = task.metadata.additional.get("answer_type")
        # WebVoyager marks references like that: an agent that names another hotel may be right.
        if answer_type == "possible" and not self.allow_possible:
            raise ValueError(
                "the row's answer is 'possible': one of many that would be right, which matching cannot "
                "decide. Use a model judge for this row, or write allow_possible: true in the grader "
                f"{self.label!r} to match it all the same."
            )
        for reference in self._references(task):
            self._check_reference(reference)

    def _references(self, task: Task) -> list[JsonValue]:
        """Return the acceptable references; for a set each of them is a list."""
        given = task.answer if self.reference is None else self.reference
        if given is None or given in ("", []):
            raise ValueError(
                f'the grader {self.label!r} has no reference. Give the row one ("answer": "...") or the '
                "grader (reference: ...), or use a grader that needs none."
            )
        if self.match != "set":
            return given if isinstance(given, list) else [given]
        if isinstance(given, list) and all(isinstance(item, list) for item in given):
            return given
        return [given if isinstance(given, list) else split_items(str(given), [])]

    def _check_reference(self, reference: JsonValue) -> None:
        what = f"the reference {show(reference, 120)} of the grader {self.label!r}"
        if self.match == "set":
            items = reference if isinstance(reference, list) else []
            if not items or not all(isinstance(item, (str, int, float)) for item in items):
                raise ValueError(f'{what} is not a list of strings or numbers; write ["red", "blue"].')
        elif self.match == "number":
            if read_number(reference) is None:
                raise ValueError(f"{what} is not a number; write one such as 59.98.")
        elif isinstance(reference, bool) or not isinstance(reference, (str, int, float)) or reference == "":
            raise ValueError(f"{what} is not a string or number; write it as a string.")
        elif self.match == "regex":
            check_pattern(str(reference))
        elif self.match == "date":
            check_date(str(reference), day_first=bool(self.day_first))

    async def grade(self, recorded: Recorded) -> GraderResult:
        """Compare the final answer with each acceptable reference; the best one counts.

        Raises:
            Fault: a pattern takes too long.
        """
        references = self._references(recorded.task)
        answer = (recorded.final_answer or "").strip()
        query = recorded.task.query
        score, reason = 0.0, "no answer was given"
        if answer:
            # In a thread, since a slow pattern blocks until its process has been ended.
            tried = await asyncio.to_thread(lambda: [self._compare(r, answer, query) for r in references])
            score, reason = max(tried, key=lambda result: result[0])
        expected = references[0] if len(references) == 1 else references
        criterion = make_criterion(
            f"answer ({self.match})", reason, expected=expected, actual=recorded.final_answer
        )
        return GraderResult(
            grader=self.label,
            verdict=criterion.verdict,
            score=score,
            reasoning=reason or f"the answer is {show(answer, 200)}, as expected",
            criteria=(criterion,),
            details={"match": self.match, "is_answered": bool(answer)},
            fingerprint=self.fingerprint(5, recorded.site_urls),
        )

    def _compare(self, reference: JsonValue, answer: str, query: str) -> tuple[float, str]:
        """Return the score and why the answer is not the reference, "" if it is."""
        if self.match == "set":
            return self._compare_set(reference if isinstance(reference, list) else [reference], answer, query)
        reason = getattr(self, f"_{self.match}")(reference, answer)
        return (0.0, reason) if reason else (1.0, "")

    def _fold(self, value: JsonValue) -> str:
        # An agent may answer with a whole page: comparing one would take longer than the grader has.
        return fold(beginning(str(value), TEXT_LIMIT), case_sensitive=self.case_sensitive)

    def _is_same(self, reference: JsonValue, value: JsonValue) -> bool:
        if isinstance(reference, str) and isinstance(value, str):
            return self._fold(reference) == self._fold(value)
        return is_same(reference, value, "lenient")

    def _exact(self, reference: JsonValue, answer: str) -> str:
        if self._is_same(reference, answer):
            return ""
        return f"the answer is {show(answer, 200)}, not {show(reference, 200)}"

    def _includes(self, reference: JsonValue, answer: str) -> str:
        # A reference that is a number stands for all its spellings: 1250 is in "1,250 dollars".
        number = None if isinstance(reference, str) else read_number(reference)
        texts = (answer, drop_markdown(answer)) if number is None else ()
        if any(has_token(self._fold(reference), self._fold(text)) for text in texts):
            return ""
        if number in find_numbers(answer):
            return ""
        if number in find_numbers(answer, is_generous=True):
            raise _cannot_tell(answer, reference, _WRITE_NUMBER)
        return f"the answer {show(answer, 200)} does not include {show(reference, 200)}"

    def _regex(self, reference: JsonValue, answer: str) -> str:
        pattern, plain = str(reference), re.sub(r"[^\S\n]", " ", unify_signs(answer))
        # A dash in a class of characters may be a range.
        plain_pattern = pattern if "[" in pattern else unify_signs(pattern)
        tries = dict.fromkeys(((pattern, answer), (pattern, plain), (plain_pattern, plain)))
        matches = any(has_match(*pair, ignore_case=not self.case_sensitive) for pair in tries)
        return "" if matches else f"the answer {show(answer, 200)} does not match {show(reference, 200)}"

    def _number(self, reference: JsonValue, answer: str) -> str:
        text = drop_markdown(answer)
        wanted, numbers = read_number(reference), _list_numbers(text)
        if len(numbers) == 1 and wanted is not None and is_close(wanted, numbers[0], self.tolerance):
            return ""
        others = _list_numbers(text, is_generous=True)
        if len(others) == 1 and wanted is not None and is_close(wanted, others[0], self.tolerance):
            raise _cannot_tell(answer, reference, _WRITE_NUMBER)
        if len(numbers) != 1:
            several = f"several numbers ({_show_numbers(numbers[:5], answer)})"
            found = several if numbers else "no unambiguous number"
            return f"the answer {show(answer, 200)} contains {found}; expected {show(reference)}"
        within = f" within {self.tolerance:g}" if self.tolerance else ""
        return f"the answer's number is {_show_numbers(numbers, answer)}, not {show(reference)}{within}"

    def _date(self, reference: JsonValue, answer: str) -> str:
        text = drop_markdown(answer)
        wanted = read_date(str(reference), day_first=bool(self.day_first))
        dates = _list_dates(text, day_first=bool(self.day_first))
        if len(dates) == 1 and wanted is not None and wanted.mismatch(dates[0]) is None:
            return ""
        # Not by what was set: a regrade reads a block that has all keys.
        orders = () if self.day_first is not None else ({"day_first": True}, {"year_first": True})
        others = [_list_dates(text, **order) for order in orders]
        if wanted is not None and any(len(o) == 1 and wanted.mismatch(o[0]) is None for o in others):
            raise _cannot_tell(
                answer, reference, "Say in the grader whether the day comes first: `day_first: true`"
            )
        if wanted and may_name(text, wanted) and all(date.fields[1] is None for date in dates):
            raise _cannot_tell(answer, reference, "Have the task ask for a format, such as 2025-03-04")
        if len(dates) != 1 or wanted is None:
            found = f"{len(dates)} dates" if dates else "no date that can be read"
            return f"the answer {show(answer, 200)} contains {found}; expected {show(reference)}"
        return f"the answer's date is not {show(reference)}: {wanted.mismatch(dates[0])}"

    def _compare_set(self, reference: list[JsonValue], answer: str, query: str) -> tuple[float, str]:
        """Return F1 over the items; the answer is right only if both sides hold the same ones."""
        text, answer = drop_markdown(answer), beginning(answer, TEXT_LIMIT)
        picked = pick_items(text, reference, query=query, case_sensitive=self.case_sensitive)
        ways = (split_items(text, reference), split_items(answer, reference), picked)
        return max((self._score_set(reference, given) for given in ways), key=lambda scored: scored[0])

    def _score_set(self, reference: list[JsonValue], given: list[JsonValue]) -> tuple[float, str]:
        missing = [r for r in reference if not any(self._is_same(r, item) for item in given)]
        extra = [item for item in given if not any(self._is_same(r, item) for r in reference)]
        if not missing and not extra:
            return 1.0, ""
        recall = 1 - len(missing) / len(reference)
        precision = 1 - len(extra) / len(given) if given else 0.0
        score = 2 * precision * recall / (precision + recall) if precision + recall else 0.0
        sides = (("lacks", missing), ("also has", extra))
        found = " and ".join(f"{word} {show(items, 200)}" for word, items in sides if items)
        return score, f"the answer's list {found}"


_WRITE_NUMBER = "Have the task ask for a format, such as 1234.5"


def _cannot_tell(answer: str, reference: JsonValue, remedy: str) -> GraderFault:
    return GraderFault(
        f"cannot tell whether the answer {show(answer, 200)} is {show(reference)}: it can be read in more "
        f"than one way. {remedy}"
    )


def _list_numbers(answer: str, *, is_generous: bool = False) -> list[Decimal]:
    whole = read_number(answer, is_generous=is_generous)
    return find_numbers(answer, is_generous=is_generous) if whole is None else [whole]


def _list_dates(answer: str, **order: bool) -> list[Moment]:
    whole = read_date(answer, **order)
    return find_dates(answer, **order) if whole is None else [whole]


def _show_numbers(numbers: Sequence[Decimal], answer: str) -> str:
    """Return numbers of an answer, those that are a part of a secret redacted: nothing finds them later."""
    safe = redact_known(answer)
    shown = numbers if safe == answer else find_numbers(safe)
    return ", ".join(str(number) if number in shown else MARK for number in numbers)
