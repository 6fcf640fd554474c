"""Sites and models that do not answer: after two rows without an answer no further attempt is begun."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Any

from pytest_browsereval.errors import ErrorSource, Fault, Outage, RunStopped, StopRun
from pytest_browsereval.model.grades import GraderResult
from pytest_browsereval.model.trials import TrialKey
from pytest_browsereval.run.store import RunStore

MOST_ROWS = 2
"""Rows that may err for want of the same answer: one of them may be unlucky."""

END = ""
"""Stands in a line of the ledger that ends the session."""

LEDGER = "outages.jsonl"
"""In the run folder: which row did not get an answer of which site or model, a line each."""


class Outages:
    """What has not answered the processes of a run.

    Args:
        store: the run, whose folder has the ledger that all of them write.
        began: when the session began, in seconds since 1970; what earlier sessions met is over.
        redact: replaces secrets in a text.
        keeps_going: whether rows are tried no matter what has not answered.
    """

    def __init__(
        self, store: RunStore, began: float, redact: Callable[[str], str], *, keeps_going: bool = False
    ) -> None:
        self._store = store
        self._began = began
        self._redact = redact
        self._keeps_going = keeps_going

    def over(self) -> str:
        """Return why no further attempt may begin; "" if one may.

        Raises:
            OSError: the ledger cannot be read.
        """
        lines = self._lines()
        if ended := next((line for line in lines if line["what"] == END), None):
            return str(ended["why"])
        if self._keeps_going:
            return ""
        for what in dict.fromkeys(line["what"] for line in lines):
            if len(_rows(lines, what)) >= MOST_ROWS:
                return str(next(line["why"] for line in reversed(lines) if line["what"] == what))
        return ""

    def end(self, why: str) -> None:
        """Have no further attempt begin in any process of the session.

        Args:
            why: what every further attempt would meet.

        Raises:
            OSError: the ledger cannot be written.
        """
        self._store.append(
            LEDGER, {"what": END, "row": END, "at": time.time(), "answered_at": None, "why": why}
        )

    def count(self, key: TrialKey, fault: Fault | None, *, is_free: bool) -> Fault | None:
        """Return the fault of an attempt, which ends the run where it is the second row's.

        Args:
            key: of the trial.
            fault: what the attempt has met.
            is_free: whether the attempt has cost nothing.

        Raises:
            RunStopped: two other rows have met it before, and the attempt is free: it need not count.
            OSError: the ledger cannot be read or written.
        """
        if self._keeps_going or not isinstance(fault, Outage):
            return fault
        why, row = self._redact(str(fault)).partition("\n")[0], f"{key.query_id}/{key.variant}/{key.trial}"
        line = {"what": fault.what, "row": row, "at": time.time(), "answered_at": fault.answered_at}
        self._store.append(LEDGER, {**line, "why": why})
        rows = _rows(self._lines(), fault.what)
        if len(rows) < MOST_ROWS:
            return fault
        if is_free and row not in rows[:MOST_ROWS]:
            raise RunStopped(self.over())
        other = next(name for name in rows if name != row).partition("/")[0]
        return StopRun(fault.source, f"{why} (Row {other} met the same error.)", status=fault.status)

    def count_grades(self, key: TrialKey, grades: Iterable[GraderResult]) -> bool:
        """Return whether a model that graders ask has not answered two rows.

        Args:
            key: of the trial.
            grades: of its graders.

        Raises:
            OSError: the ledger cannot be read or written.
        """
        met = [(one.reasoning, one.unanswered) for one in grades if one.unanswered and not one.advisory]
        outages = (
            Outage(ErrorSource.GRADER, why, what=one.what, answered_at=one.answered_at) for why, one in met
        )
        return any(isinstance(self.count(key, one, is_free=False), StopRun) for one in outages)

    def ends_run(self, fault: Fault | None, *, grading_does: bool) -> bool:
        """Whether no further attempt is begun after one that has met a fault.

        Args:
            fault: what the attempt has met.
            grading_does: whether a grader has met what every further attempt would meet.
        """
        if not isinstance(fault, StopRun):
            return grading_does and not self._keeps_going
        return not (self._keeps_going and fault.source in (ErrorSource.PROVIDER, ErrorSource.SITE))

    def _lines(self) -> list[dict[str, Any]]:
        found = self._store.run.read_lines(LEDGER, lambda line: (line["at"] >= self._began, line))
        return [line for is_of_session, line in found if is_of_session]


def _rows(lines: list[dict[str, Any]], what: str) -> list[str]:
    """Return the rows that have met an outage since there was an answer the last time."""
    same = [line for line in lines if line["what"] == what]
    last = max((line["answered_at"] or 0.0 for line in same), default=0.0)
    return list(dict.fromkeys(line["row"] for line in same if line["at"] > last))
