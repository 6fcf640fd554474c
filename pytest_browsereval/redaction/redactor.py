"""Takes secrets out of texts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from pytest_browsereval.redaction.marks import MARK

SHORTEST_PART = 6
"""Characters of a secret next to the mark of a cut that are taken for a part of it."""

_CUT = re.compile(r"…|\.{12,}|\.{3}")
"""A long row of dots is one mark: megabytes of them would be a million."""


class Redactor:
    """Takes secrets out of texts, and what is left of them next to the mark of a cut: ``token=sk-123...``.

    Args:
        spellings: the secrets in all their spellings.
        mark: what stands for each.
    """

    def __init__(self, spellings: Iterable[str] = (), mark: str = MARK) -> None:
        self._mark = mark
        self.spellings = tuple(sorted(filter(None, set(spellings)), key=lambda text: (-len(text), text)))
        # Most texts have no escapes.
        self._without_escapes = tuple(one for one in self.spellings if "\\" not in one)
        self._grams = {
            one[at : at + SHORTEST_PART] for one in self.spellings for at in range(len(one) - SHORTEST_PART)
        } | {one[-SHORTEST_PART:] for one in self.spellings}

    def redact(self, text: str) -> str:
        """Return the text with the mark in the places of secrets."""
        for secret in self.spellings if "\\" in text else self._without_escapes:
            text = text.replace(secret, self._mark)
        return "".join(self._without_parts(text)) if "…" in text or "..." in text else text

    def _without_parts(self, text: str) -> Iterator[str]:
        """Yield a text in pieces; pages, pytest and others cut texts before anybody else sees them."""
        done = 0
        for cut in _CUT.finditer(text):
            start, end = cut.span()
            before = text[max(start - SHORTEST_PART, 0) : start]
            if before not in self._grams and text[end : end + SHORTEST_PART] not in self._grams:
                continue
            head, tail = self._head_before(text, start), self._tail_behind(text, end)
            if head or tail:
                yield from (
                    text[done : max(start - head, done)],
                    self._mark if head else "",
                    cut[0],
                    self._mark if tail else "",
                )
                done = end + tail
        yield text[done:]

    def _head_before(self, text: str, place: int) -> int:
        """Return how many characters before a place are the beginning of a secret."""
        if text[max(place - SHORTEST_PART, 0) : place] not in self._grams:
            return 0
        return max((size for one, size in self._parts() if text.endswith(one[:size], 0, place)), default=0)

    def _tail_behind(self, text: str, place: int) -> int:
        """Return how many characters after a place are the end of a secret."""
        if text[place : place + SHORTEST_PART] not in self._grams:
            return 0
        return max((size for one, size in self._parts() if text.startswith(one[-size:], place)), default=0)

    def _parts(self) -> Iterator[tuple[str, int]]:
        return ((one, size) for one in self.spellings for size in range(SHORTEST_PART, len(one)))
