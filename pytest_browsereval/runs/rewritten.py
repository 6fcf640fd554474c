"""``rewritten.jsonl``: attempts whose lines something else than the run has changed, made or removed."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path

from pytest_browsereval.run_files import parse_written, read_written
from pytest_browsereval.runs.attempt import StoredAttempt

REWRITTEN = "rewritten.jsonl"
"""In the run folder: a line for each such attempt."""

NAMED = 5
"""Attempts that a message names; the rest is counted."""

_ATTEMPT = re.compile("attempt-([0-9]{1,9})")


def attempt_number(name: str) -> int | None:
    """Return which try at its trial a folder is, by its name; None: it is no attempt, a copy of one say."""
    found = _ATTEMPT.fullmatch(name)
    return int(found[1]) if found else None


def describe_foreign_records(places: Sequence[str]) -> str:
    """Return what to say of lines that something else than the run has written and that are still there.

    Args:
        places: the folders of their attempts, below the run's.
    """
    more = f" and {len(places) - NAMED} more" if len(places) > NAMED else ""
    return (
        "lines of attempts/*.jsonl that something other than the run has changed or made are still there, of "
        f"{', '.join(places[:NAMED])}{more}. Remove these lines, then resume the run (--eval-resume)"
    )


class Lost:
    """The trials of a run that have no result, since something has changed the line of an attempt.

    A later line counts: of a later attempt, or with a higher revision, than the run had when that was noted.

    Args:
        root: the run's folder.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._until: dict[str, tuple[int, int]] = {}
        """The last attempt of each such trial, and its revision, when that was found out."""
        self.foreign: dict[str, str] = {}
        """The folders of such attempts, by the hashes of lines that the run has not written."""
        self.dropped: set[str] = set()
        """The hashes of these lines, and of those that a worker has not reported before it died."""
        self.is_damaged = False
        """Whether the list of them cannot be read whole: what else has no result is unknown."""
        self._size = self._measure()
        try:
            lines = read_written(root / REWRITTEN).splitlines()
        except OSError as error:
            self.is_damaged = not isinstance(error, FileNotFoundError)
            return
        self.is_damaged = not lines
        for line in lines:
            try:
                found = parse_written(line)
                place, until, key = str(found["folder"]), found["until"], found["line"]
                last = None if until is None else (int(until[0]), int(until[1]))
            except (ValueError, TypeError, LookupError):
                self.is_damaged = True
                continue
            if key is not None:
                self.dropped.add(str(key))
            if last is None:  # all else counts
                continue
            if key is not None:
                self.foreign[str(key)] = place
            trial = place.rpartition("/")[0]
            self._until[trial] = max(last, self._until.get(trial, last))

    def _measure(self) -> int:
        try:
            return os.stat(self._root / REWRITTEN, follow_symlinks=False).st_size  # noqa: PTH116 asked often
        except OSError:
            return -1

    def refresh(self) -> Lost:
        """Return the same as it is now."""
        return self if self._measure() == self._size else Lost(self._root)

    def covers(self, trial: str, data: StoredAttempt) -> bool:
        """Whether an attempt does not count.

        Args:
            trial: the folder of its trial below the run's.
            data: the attempt, by a line that was not dropped.
        """
        return bool(self._until) and (data.attempt, data.revision) <= self._until.get(trial, (-1, 0))

    def last_of(self, trial: str) -> int:
        """Return the number of the last attempt that does not count for this reason; 0 without any.

        Args:
            trial: its folder below the run's.
        """
        return self._until.get(trial, (0, 0))[0]
