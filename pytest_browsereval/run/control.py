"""Control of a running run: pause, stop, skip a trial.

One process, the one that is asked, writes ``control.json`` into the run folder; every process looks there
before it begins an attempt. What is in flight is never touched.
"""

from __future__ import annotations

import json
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from typing import Any

from pytest_browsereval.errors import CalledOff
from pytest_browsereval.model.trials import TrialKey
from pytest_browsereval.run.store import RunStore
from pytest_browsereval.run_files import load_written, write_whole

CONTROL = "control.json"
"""In the run folder: what the session is to do."""

LOOK_S = 0.2
"""How often a paused process looks whether it may go on."""


@dataclass(frozen=True, slots=True)
class ControlState:
    """Whether a run is paused or stopped, and which trials it leaves out."""

    paused: bool = False
    stopped: bool = False
    """For good: the rest of the trials may have been reported as skipped already."""
    skipped: AbstractSet[TrialKey] = frozenset()

    def why_not(self, key: TrialKey) -> str:
        """Return why no attempt of a trial is to begin; "" if one is."""
        if self.stopped:
            return "the run was stopped there"
        return "it was skipped there" if key in self.skipped else ""


class Control:
    """The control file of a run, for one session of it.

    Args:
        store: the run.
        session: names the session: what an earlier one was to do is over. None looks at nothing, which
            costs nothing.
    """

    def __init__(self, store: RunStore, session: str | None = None) -> None:
        self._store = store
        self.session = session
        """The session it is of."""

    # -- those who are asked

    def write_state(self, state: ControlState) -> None:
        """Write the file; only one process may do so.

        Raises:
            OSError: it cannot be written.
        """
        self._store.root.mkdir(parents=True, exist_ok=True)  # nothing may have begun yet
        trials = sorted([key.query_id, key.variant, key.trial] for key in state.skipped)
        record = {
            "session": self.session,
            "paused": state.paused,
            "stopped": state.stopped,
            "skipped": trials,
        }
        write_whole(self._store.root / CONTROL, json.dumps(record, ensure_ascii=False) + "\n")

    def skip(self, key: TrialKey, *, is_skipped: bool = True) -> None:
        """Have a trial left out that has not begun, or take that back.

        Raises:
            OSError: it cannot be written.
        """
        state = self.read_state()
        others = state.skipped - {key}
        self.write_state(replace(state, skipped=others | {key} if is_skipped else others))

    # -- those who make attempts

    def read_state(self) -> ControlState:
        """Return what the file says now."""
        if self.session is None:
            return ControlState()
        try:
            record: dict[str, Any] = load_written(self._store.root / CONTROL)
            if record["session"] != self.session:
                return ControlState()
            skipped = frozenset(TrialKey(*one) for one in record["skipped"])
            return ControlState(bool(record["paused"]), bool(record["stopped"]), skipped)
        except (OSError, ValueError, KeyError, TypeError):  # nobody has asked for anything
            return ControlState()

    async def why_not(self, key: TrialKey) -> str:
        """Wait while the run is paused; return why an attempt is not to begin then, "" if it is."""
        import asyncio  # commands that read a run need none, which takes 0.03 s

        while (state := self.read_state()).paused and not state.why_not(key):  # noqa: ASYNC110 another process tells
            await asyncio.sleep(LOOK_S)
        return state.why_not(key)

    async def admit(self, key: TrialKey) -> None:
        """Wait while the run is paused, then refuse an attempt if the run was stopped or the trial skipped.

        Raises:
            CalledOff: the run was stopped, or the trial skipped.
        """
        if self.session is not None and (why := await self.why_not(key)):
            raise CalledOff(why)
