"""How often a page is asked: one that answers slowly is left alone for a while."""

from __future__ import annotations

SLOW_S = 0.25
"""A page that takes so long for its answer would hold the agent up."""
MOST = 15
"""Steps that are passed over at once."""


class Pace:
    """Passes over steps after a slow answer: 1, then 3, 7 and at most 15, until an answer comes quickly."""

    def __init__(self) -> None:
        self._pause = 0
        self._left = 0

    def is_due(self) -> bool:
        """Return whether to ask after the step that is over now."""
        if self._left:
            self._left -= 1
            return False
        return True

    def note_answer(self, took_s: float) -> None:
        """Take over how long the page took, with or without an answer."""
        self._pause = min(2 * self._pause + 1, MOST) if took_s >= SLOW_S else 0
        self._left = self._pause
