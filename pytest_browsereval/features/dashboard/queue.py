"""The queue of a run: its trials and their states."""

from __future__ import annotations

import contextlib
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from pytest_browsereval.features.dashboard.tail import Tail
from pytest_browsereval.model.trials import TrialKey
from pytest_browsereval.run.control import ControlState
from pytest_browsereval.run.lookup import JOURNAL
from pytest_browsereval.run.store import RunStore

# Waiting trials that a page gets; the rest is counted.
NEXT = 100

# Skipped trials that a page gets, the last ones.
SKIPPED = 100

NEEDLESS = "not needed:"
"""In the reason why a trial of a later round is not made: something was decided without it."""


@dataclass(slots=True)
class Trial:
    """A trial of the session."""

    key: TrialKey
    query: str
    is_over: bool = False
    why: str = ""
    """Why no attempt was made."""


class Queue:
    """Reads the journal of the session.

    Args:
        store: the run.
        session: the one that is watched; the journal may begin with earlier ones.
    """

    def __init__(self, store: RunStore, session: str | None) -> None:
        self._tail = Tail(str(store.root / JOURNAL))
        self._session = session
        self._has_begun = False
        self.trials: dict[str, Trial] = {}
        """By their items, in their order."""
        self.processes, self.lanes = 1, 1
        self.exit_code: int | None = None
        """Of the session, once it has ended."""
        self.why: list[str] = []
        """Why it has ended as it did."""
        self.began_at, self.ended_at = "", ""
        self.made: set[TrialKey] = set()
        """Trials with an attempt that has ended in the session: pytest reports trials in their order, so one
        that is slow holds back what is known of all behind it."""

    def look(self) -> None:
        """Read what was added to the journal."""
        while lines := self._tail.more():
            for line in lines:
                with contextlib.suppress(KeyError, TypeError, ValueError):  # not of our making
                    self._take(line)

    def _take(self, line: dict[str, Any]) -> None:
        kind = line.get("kind")
        self._has_begun = self._has_begun or (kind == "begin" and line["session"] == self._session)
        if not self._has_begun:
            return
        if kind == "begin":
            self.trials, self.exit_code, self.why, self.made = {}, None, [], set()
            self.began_at, self.ended_at = str(line["at"]), ""
            self.processes, self.lanes = int(line["processes"]), int(line["lanes"])
        elif kind == "queue":
            for node_id, query_id, variant, trial, query in line["trials"]:
                self.trials[node_id] = Trial(TrialKey(query_id, variant, trial), query)
        elif kind == "over":
            trial, verdict = self.trials[line["node_id"]], line["verdict"]
            trial.is_over, trial.why = True, "" if verdict else line["why"]
        elif kind == "end":
            self.exit_code, self.ended_at = int(line["exit_code"]), str(line["at"])
            self.why = [str(one) for one in line.get("why", ())]

    def state(self, running: Collection[str], control: ControlState) -> dict[str, Any]:
        """Return what a page shows of the queue.

        Args:
            running: items of the attempts in flight.
            control: whether it is paused or stopped, and what is skipped.
        """
        rest = [one for name, one in self.trials.items() if not one.is_over and name not in running]
        waiting = [one for one in rest if one.key not in self.made]
        skipped = [one for one in self.trials.values() if one.why]
        over = sum(one.is_over for one in self.trials.values()) - len(skipped)
        return {
            "began_at": self.began_at,
            "trials": len(self.trials),
            "over": over + len(rest) - len(waiting),
            "waiting": len(waiting),
            "next": [{**_as_json(one), "is_skipped": one.key in control.skipped} for one in waiting[:NEXT]],
            "skipped": len(skipped),
            "needless": sum(NEEDLESS in one.why for one in skipped),
            "last_skipped": [{**_as_json(one), "why": one.why} for one in skipped[-SKIPPED:]],
        }


def _as_json(one: Trial) -> dict[str, Any]:
    key = one.key
    return {"id": key.query_id, "variant": key.variant, "trial": key.trial, "query": one.query}
