"""Control of a running run: pause, stop.

One process, the one that is asked, writes ``control.json`` into the run folder; every process looks there
before it begins an attempt. What is in flight is never touched.
"""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from pytest_browsereval.errors import CalledOff
from pytest_browsereval.run.store import RunStore
from pytest_browsereval.run_files import load_written, write_whole

CONTROL = "control.json"
"""In the run folder: what the session is to do."""

LOOK_S = 0.2
"""How often a paused process looks whether it may go on."""


@dataclass(frozen=True, slots=True)
class ControlState:
    """Whether a run is paused or stopped."""

    paused: bool = False
    stopped: bool = False
    """For good: the rest of the trials may have been reported as skipped already."""


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
        record = {"session": self.session, "paused": state.paused, "stopped": state.stopped}
        write_whole(self._store.root / CONTROL, json.dumps(record, ensure_ascii=False) + "\n")

    # -- those who make attempts

    def read_state(self) -> ControlState:
        """Return what the file says now."""
        if self.session is not None:
            with suppress(OSError, ValueError, KeyError, TypeError):  # nobody has asked for anything
                record: dict[str, Any] = load_written(self._store.root / CONTROL)
                if record["session"] == self.session:
                    return ControlState(bool(record["paused"]), bool(record["stopped"]))
        return ControlState()

    async def is_stopped(self) -> bool:
        """Wait while the run is paused; return whether it is stopped then."""
        import asyncio  # commands that read a run need none, which takes 0.03 s

        while (state := self.read_state()).paused and not state.stopped:  # noqa: ASYNC110 another process tells
            await asyncio.sleep(LOOK_S)
        return state.stopped

    async def admit(self) -> None:
        """Wait while the run is paused, then refuse an attempt if it was stopped.

        Raises:
            CalledOff: it was.
        """
        if self.session is not None and await self.is_stopped():
            raise CalledOff("the run was stopped there")
