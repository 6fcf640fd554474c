"""The queue of a run: its trials and their states."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from pytest_browsereval.model.messages import now
from pytest_browsereval.model.trials import TrialKey

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
    """The task, cut."""
    is_over: bool = False
    why: str = ""
    """Why no attempt was made."""


class Queue:
    """What a session has to do for a run. The session's thread writes it, and the server's reads it."""

    def __init__(self) -> None:
        self.trials: Mapping[str, Trial] = {}
        """By their items, in their order."""
        self.processes, self.lanes = 1, 1
        self.exit_code: int | None = None
        """Of the session, once it has ended."""
        self.began_at, self.ended_at = "", ""
        self.made: set[TrialKey] = set()
        """Trials with an attempt that has ended in the session: pytest reports trials in their order, so one
        that is slow holds back what is known of all behind it."""

    def begin(self, trials: Mapping[str, Trial], *, processes: int, lanes: int) -> None:
        """Note which trials are to run.

        Args:
            trials: by their items, in their order.
            processes: how many workers of xdist there are.
            lanes: how many attempts run at once in each process.
        """
        self.trials, self.processes, self.lanes, self.began_at = trials, processes, lanes, now()

    def end_trial(self, node_id: str, why: str = "") -> None:
        """Note that a trial is over, and why no attempt of it was made."""
        if (trial := self.trials.get(node_id)) is not None:
            trial.is_over, trial.why = True, why

    def end(self, exit_code: int) -> None:
        """Note that the session has ended."""
        self.ended_at = now()
        self.exit_code = exit_code  # the last: pages take it for the end

    def state(self, running: Collection[str]) -> dict[str, Any]:
        """Return what a page shows of the queue; items of the attempts in flight are given."""
        rest = [one for name, one in self.trials.items() if not one.is_over and name not in running]
        waiting = [one for one in rest if one.key not in self.made]
        skipped = [one for one in self.trials.values() if one.why]
        over = sum(one.is_over for one in self.trials.values()) - len(skipped)
        return {
            "began_at": self.began_at,
            "trials": len(self.trials),
            "over": over + len(rest) - len(waiting),
            "waiting": len(waiting),
            "next": [_as_json(one) for one in waiting[:NEXT]],
            "skipped": len(skipped),
            "needless": sum(NEEDLESS in one.why for one in skipped),
            "last_skipped": [{**_as_json(one), "why": one.why} for one in skipped[-SKIPPED:]],
        }


def _as_json(one: Trial) -> dict[str, Any]:
    key = one.key
    return {"id": key.query_id, "variant": key.variant, "trial": key.trial, "query": one.query}
