"""Which rounds of a run may be made, as far as a process knows."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

from pytest_browsereval.config.model import RoundsConfig
from pytest_browsereval.hooks.items import Unmade
from pytest_browsereval.model.display import one_line
from pytest_browsereval.model.messages import now
from pytest_browsereval.run.active import ActiveRun, TrialChoice
from pytest_browsereval.run.plan import Entry

LOOK_S = 0.1
"""How often a process looks that waits for the others to end a round."""


JOURNAL = "rounds.jsonl"
"""In the run folder: what was decided after each round, which all processes read and one writes."""


@dataclass(frozen=True)
class RoundEnd:
    """A line of it: what comes after a round."""

    session: float
    """When the session began that has made it, in seconds since 1970."""
    after: int
    """Rounds that were made."""
    end: str
    """What keeps further ones from being made, one of ``Unmade`` or *last*; empty if there is one."""
    why: str
    """... in words."""

    @property
    def unmade(self) -> Unmade:
        """What keeps trials of further rounds from being made."""
        kinds: dict[str, Unmade] = {kind: kind for kind in get_args(Unmade)}
        return kinds.get(self.end, "stopped")  # anyone who can write into the folder could have written it


def _read_end(line: Any) -> RoundEnd:
    return RoundEnd(float(line["session"]), int(line["after"]), str(line["end"]), one_line(str(line["why"])))


class RoundState(TrialChoice):
    """The rounds of a run.

    Args:
        run: whose trials are made in rounds; an earlier session may have made some.
        rounds: how many there are to be.
    """

    def __init__(self, run: ActiveRun, rounds: RoundsConfig) -> None:
        self.rounds = rounds
        self._store = run.store
        self._session = run.began
        self.admitted = rounds.min
        """Up to which number trials are made."""
        self.stop: RoundEnd | None = None
        """Why there is no further round."""
        self.update()

    def is_wanted(self, entry: Entry) -> bool:
        """Whether a trial is in a round that is made."""
        return entry.trial <= self.admitted

    def is_undecided(self, entry: Entry) -> bool:
        """Whether it is not known yet whether a trial is made."""
        return not self.is_wanted(entry) and self.stop is None

    def update(self) -> None:
        """Learn what the process has written that decides; what ended an earlier session is over."""
        for line in self._store.run.read_lines(JOURNAL, _read_end):
            if not line.end:
                self.admitted = max(self.admitted, line.after + 1)
            elif line.session == self._session:
                self.stop = line

    def end_round(self, end: Unmade | Literal["last"] | None, why: str, decisions: dict[str, str]) -> None:
        """Write down what comes after the rounds that were admitted; only one process may.

        Args:
            end: what keeps further ones from being made; None if there is one.
            why: ... in words.
            decisions: what the test says by then, by the names of rules.

        Raises:
            OSError: it cannot be written.
        """
        line = RoundEnd(self._session, self.admitted, end or "", why)
        self._store.append(JOURNAL, {"at": now(), **asdict(line), "decisions": decisions})
        if end is None:
            self.admitted += 1
        else:
            self.stop = line

    def wait(self, entry: Entry, look: Callable[[], None]) -> None:
        """Wait until it is known whether a trial is needed.

        Args:
            entry: the trial.
            look: called meanwhile; may raise to stop waiting.
        """
        self.update()
        while self.is_undecided(entry):
            look()
            time.sleep(LOOK_S)
            self.update()
