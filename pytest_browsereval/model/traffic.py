"""What graders look at in recorded network traffic."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Traffic:
    """What a grader reads from the traffic, besides addresses, headers, what was sent and the status."""

    replies: bool = False
    """Replies in JSON."""
    cookies: frozenset[str] = frozenset()
    """The names of cookies to keep, preferences for example; all others are removed."""

    @classmethod
    def all_of(cls, wanted: Iterable[Traffic | None]) -> Traffic:
        """Return what several graders look at together."""
        given = [one for one in wanted if one is not None]
        cookies = frozenset[str]().union(*(one.cookies for one in given))
        return cls(any(one.replies for one in given), cookies)
