"""Deaths of processes: which trial is to blame, which run alone to find out, and which have no try left."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from pytest_browsereval.errors import ErrorSource, Fault, UsageError
from pytest_browsereval.model.grades import Verdict
from pytest_browsereval.model.trials import TrialKey
from pytest_browsereval.run.store import Flight
from pytest_browsereval.runs.deaths import DEATHS, Death, read_deaths

if TYPE_CHECKING:
    from pytest_browsereval.run.active import ActiveRun


class Deaths:
    """Those of the processes of a run.

    Args:
        run: which writes them down, so that all its processes and the one who resumes it know them.
    """

    def __init__(self, run: ActiveRun) -> None:
        self._run = run
        self._size = 0
        self._read: tuple[Death, ...] = ()

    def note(self, node_ids: Collection[str], what: str, *, is_known: bool) -> None:
        """Write a death down, and an errored attempt of the trial that is to blame for it.

        Args:
            node_ids: the items that the process was at.
            what: has happened.
            is_known: whether what did it is known: the item, where there is one.

        Raises:
            OSError: the run folder cannot be written.
        """
        run = self._run
        entries = {}
        for node_id in node_ids:
            with suppress(KeyError, UsageError):  # a row that is gone since
                entries[node_id] = run.plan.find(node_id.partition("::")[2])
        line = {
            "at": datetime.now(UTC).isoformat(),
            "began": run.began,
            "trials": [self._place(entry.key) for entry in entries.values()],
            "is_known": is_known,
            "regrades": not run.trials.makes_attempts,
        }
        run.store.root.mkdir(parents=True, exist_ok=True)  # a fixture may have done it, before any attempt
        run.store.append(DEATHS, line)
        for node_id, entry in entries.items() if is_known else ():
            hint = ". `retries` says how many times it is tried again" if run.trials.makes_attempts else ""
            why = f"{what} while this attempt ran alone in it{hint}"
            run.trials.record_fault(entry, node_id, Fault(ErrorSource.HARNESS, why))

    def note_cut_off(self, flights: Iterable[Flight]) -> None:
        """Note the death of an earlier session, by the attempts that it has not finished.

        Raises:
            OSError: the run folder cannot be written.
        """
        if node_ids := {flight.node_id for flight in flights}:
            self.note(node_ids, "pytest died", is_known=len(node_ids) == 1)

    def has_any(self) -> bool:
        """Whether a process of the run has died."""
        return bool(self._list())

    def is_suspect(self, key: TrialKey) -> bool:
        """Whether a process has died at a trial, which runs alone for that reason."""
        return any(self._place(key) in one.trials for one in self._list())

    def count_tries(self, key: TrialKey) -> int:
        """Return how many tries at a trial deaths have used up, with those of this session that erred.

        (A new process does not know what another one has tried before it died.)
        """
        if not (deaths := self._list()):
            return 0
        place, run = self._place(key), self._run
        blamed = [one for one in deaths if one.is_known and place in one.trials]
        if not run.trials.makes_attempts:
            return len(blamed)
        began = datetime.fromtimestamp(run.began, UTC)
        erred = (one for one in run.store.list_tries(key) if one.verdict is Verdict.ERRORED)
        count = sum(datetime.fromisoformat(one.started_at) >= began for one in erred)
        return count + sum(one.began != run.began for one in blamed)

    def is_spent(self, key: TrialKey) -> bool:
        """Whether a trial has no try left; grades are not tried again."""
        run = self._run
        return self.count_tries(key) > (run.config.retries if run.trials.makes_attempts else 0)

    def _place(self, key: TrialKey) -> str:
        return self._run.store.trial_folder(key).relative_to(self._run.store.root).as_posix()

    def _list(self) -> Sequence[Death]:
        """Return those that this session has to do with: of attempts, or of grading again in this session."""
        run = self._run
        try:
            size = os.stat(run.store.root / DEATHS).st_size  # noqa: PTH116 asked for each item
        except OSError:
            return ()
        if size != self._size:
            self._size, self._read = size, read_deaths(run.store.root)
        if run.trials.makes_attempts:
            return [one for one in self._read if not one.regrades]
        return [one for one in self._read if one.regrades and one.began == run.began]


def note_death(
    runs: Iterable[ActiveRun], at_work: Mapping[str, ActiveRun], what: str, *, is_known: bool
) -> None:
    """Write the death of a process down in each run that it may have worked for.

    Args:
        runs: all of these.
        at_work: the items that it was at, with the run of each.
        what: has happened.
        is_known: whether what did it is known: the item, where there is one.

    Raises:
        OSError: a run folder cannot be written.
    """
    for run in runs:
        own = [node_id for node_id, owner in at_work.items() if owner is run]
        run.deaths.note(own, what, is_known=is_known or bool(at_work and not own))
