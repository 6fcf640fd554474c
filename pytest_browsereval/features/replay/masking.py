"""Reference answers of protected tasks, kept out of recorded calls of judges so that they can be replayed."""

from __future__ import annotations

import re
import unicodedata
from typing import Any

from pytest_browsereval.features.replay.volatile import compute_digest, find_volatile
from pytest_browsereval.model.tasks import Task
from pytest_browsereval.redaction.answers import compile_answer, list_wordings
from pytest_browsereval.redaction.marks import WITHHELD
from pytest_browsereval.redaction.text import map_texts

_MARK = re.compile(r"\[withheld (\d+)\]")
_ESCAPED = re.compile(r"(?<!\\)\\u(?!00[0-7]|[dD][89a-fA-F])([0-9a-fA-F]{4})")
"""A letter beyond ASCII as JSON may write it: an answer spelled like that would not be found."""


def make_mask(task: Task, row: Task) -> AnswerMask | None:
    """Return what keeps the reference answer out of the calls of a task's judges; None if nothing has to.

    Args:
        task: with its placeholders filled in, as judges are asked about it.
        row: the same before, so that it does not change with the ports of its sites.
    """
    pattern = compile_answer(task.answer, task.query) if task.protected else None
    if pattern is None:
        return None
    digest = compute_digest(row.answer)[:12]  # shorter than what counts as volatile
    return AnswerMask(pattern, list_wordings(task.answer), digest)


class AnswerMask:
    """``[withheld 3]`` stands for a wording by its number: the reply of a judge has to come back as it was.

    A wording that only the judge knows is ``[withheld]`` for good.

    Args:
        pattern: finds the answer.
        wordings: of the answer.
        digest: over the answer: a recording of another one answers no request.
    """

    def __init__(self, pattern: re.Pattern[str], wordings: tuple[str, ...], digest: str) -> None:
        self.digest = digest
        self._pattern = pattern
        self._wordings = wordings
        self._numbers = {wording: number for number, wording in enumerate(wordings)}

    def mask(self, value: Any) -> Any:
        """Return plain JSON without the answer."""
        return map_texts(value, self._mask_text)

    def unmask(self, value: Any) -> Any:
        """Return plain JSON with the answer in it again."""
        return map_texts(value, lambda text: _MARK.sub(self._wording, text))

    def _mask_text(self, text: str) -> str:
        text = _ESCAPED.sub(lambda match: chr(int(match[1], 16)), text)
        # An accent may be a character of its own, and the answer would not be found.
        text = unicodedata.normalize("NFC", text)
        spans = find_volatile(text)

        def mark(match: re.Match[str]) -> str:
            start, end = match.span()
            if any(first <= start and end <= last and end - start < last - first for first, last in spans):
                return match[0]  # the day of a date, say: another one in each run, and compared as such
            number = self._numbers.get(match[0])
            return WITHHELD if number is None else f"[withheld {number}]"

        return self._pattern.sub(mark, text)

    def _wording(self, match: re.Match[str]) -> str:
        number = int(match[1])
        return self._wordings[number] if number < len(self._wordings) else match[0]
