"""Journal of a session: which trials there are, which are over, when it has ended.

Written into the run folder for those who watch it; what attempts come to stands in their own folders.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, dataclass
from typing import Any

from pytest_browsereval.model.messages import now
from pytest_browsereval.model.trials import TrialKey
from pytest_browsereval.run.lookup import JOURNAL
from pytest_browsereval.run.store import RunStore

AT_ONCE = 200
"""Trials in a line: a reader has each line in memory."""


@dataclass(frozen=True, slots=True)
class Queued:
    """A trial that is to run."""

    node_id: str
    key: TrialKey
    query: str
    """The task, cut."""


class Journal:
    """Writes the journal of a session; only one process may.

    Args:
        store: the run.
        session: names the session.
    """

    def __init__(self, store: RunStore, session: str) -> None:
        self._store = store
        self._session = session

    def begin(self, trials: Sequence[Queued], *, processes: int, lanes: int) -> None:
        """Tell which trials are to run, in their order.

        Args:
            trials: these.
            processes: how many there are of xdist.
            lanes: how many attempts run at once in each process.

        Raises:
            OSError: it cannot be written.
        """
        self._store.root.mkdir(parents=True, exist_ok=True)  # nothing may have begun yet
        self._tell("begin", session=self._session, trials=len(trials), processes=processes, lanes=lanes)
        for place in range(0, len(trials), AT_ONCE):
            part = [(one.node_id, *astuple(one.key), one.query) for one in trials[place : place + AT_ONCE]]
            self._tell("queue", trials=part)

    def over(self, node_id: str, verdict: str | None, why: str = "") -> None:
        """Tell that a trial is over.

        Args:
            node_id: its item.
            verdict: what it has come to; None if no attempt was made.
            why: why none was made.

        Raises:
            OSError: it cannot be written.
        """
        self._tell("over", node_id=node_id, verdict=verdict, why=why)

    def end(self, exit_code: int, why: Sequence[str] = ()) -> None:
        """Tell that the session has ended, and why as it did.

        Raises:
            OSError: it cannot be written.
        """
        self._tell("end", exit_code=exit_code, why=list(why))

    def _tell(self, kind: str, **more: Any) -> None:
        self._store.append(JOURNAL, {"kind": kind, "at": now(), **more})
