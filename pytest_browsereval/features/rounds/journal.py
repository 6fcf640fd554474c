"""``rounds.jsonl``: what was decided after each round, which all processes of a run read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from pytest_browsereval.model.messages import now
from pytest_browsereval.run.store import RunStore

JOURNAL = "rounds.jsonl"
"""In the run folder."""


@dataclass(frozen=True)
class RoundEnd:
    """What comes after a round."""

    session: float
    """When the session began that has made it, in seconds since 1970."""
    after: int
    """Rounds that were made."""
    end: str = ""
    """What keeps further ones from being made, one of ``Unmade`` or *last*; empty if there is one."""
    why: str = ""
    """... in words."""


class RoundJournal:
    """Reads and writes it; only one process writes.

    Args:
        store: the run.
    """

    def __init__(self, store: RunStore) -> None:
        self._store = store

    def write(self, end: RoundEnd, decisions: dict[str, str]) -> None:
        """Add a line.

        Args:
            end: what comes.
            decisions: what the test says by then, by the names of rules.

        Raises:
            OSError: it cannot be written.
        """
        self._store.append(JOURNAL, {"at": now(), **asdict(end), "decisions": decisions})

    def read(self) -> Iterator[RoundEnd]:
        """Yield all lines; none of a run that has just begun."""
        yield from self._store.run.read_lines(JOURNAL, _take)


def _take(line: Any) -> RoundEnd:
    return RoundEnd(float(line["session"]), int(line["after"]), str(line["end"]), str(line["why"]))
