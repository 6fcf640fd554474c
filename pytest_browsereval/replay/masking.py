"""Reference answers of protected tasks, kept out of recorded calls of judges so that they can be replayed."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from typing import Any

from pytest_browsereval.graders.protection import WITHHELD, pattern_of, wordings_of
from pytest_browsereval.model.tasks import Task
from pytest_browsereval.replay.calls import Veil
from pytest_browsereval.replay.volatile import digest_of, volatile_spans

_MARK = re.compile(r"\[withheld (\d+)\]")
_ESCAPED = re.compile(r"(?<!\\)\\u(?!00[0-7]|[dD][89a-fA-F])([0-9a-fA-F]{4})")
"""A letter beyond ASCII as JSON may write it: an answer spelled like that would not be found."""


def veil_of(task: Task, row: Task) -> Veil | None:
    """Return what keeps the reference answer out of the calls of a task's judges; None if nothing has to.

    Args:
        task: with its placeholders filled in, as judges are asked about it.
        row: the same before, so that it does not change with the ports of its sites.
    """
    pattern = pattern_of(task)
    if pattern is None:
        return None
    veiling = _Veiling(pattern, wordings_of(task))
    # Shorter than what counts as volatile.
    return Veil(veiling.hidden, veiling.restored, digest_of(row.answer)[:12])


class _Veiling:
    """``[withheld 3]`` stands for a wording by its number: the reply of a judge has to come back as it was.

    A wording that only the judge knows is ``[withheld]`` for good.
    """

    def __init__(self, pattern: re.Pattern[str], wordings: tuple[str, ...]) -> None:
        self._pattern = pattern
        self._wordings = wordings
        self._numbers = {wording: number for number, wording in enumerate(wordings)}

    def hidden(self, value: Any) -> Any:
        return _texts(value, self._out)

    def restored(self, value: Any) -> Any:
        return _texts(value, lambda text: _MARK.sub(self._wording, text))

    def _out(self, text: str) -> str:
        text = _ESCAPED.sub(lambda match: chr(int(match[1], 16)), text)
        text = unicodedata.normalize("NFC", text)
        spans = volatile_spans(text)

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


def _texts(value: Any, change: Callable[[str], str]) -> Any:
    """Return plain JSON with its texts changed; names of fields stay, they are those of the protocol."""
    if isinstance(value, dict):
        return {name: _texts(inner, change) for name, inner in value.items()}
    if isinstance(value, list):
        return [_texts(inner, change) for inner in value]
    return change(value) if isinstance(value, str) else value
