"""Rows that a feature derives from others, and what became of attempts at them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from pytest_browsereval.model.grades import Verdict

UNDER = ".under."
"""Between the id of a row and the name of what was made of it."""


@dataclass(frozen=True, slots=True)
class Derived:
    """How a row was derived from another one."""

    by: str
    """What has derived it: a tag of the row, and the name of the grade that says what became of that.

    The grade has a word for it, ``outcome`` in its ``details``, and no score if the agent has not met it.
    """
    name: str
    """Which one of these: the end of the row's id, ``ROW.under.NAME``."""
    of: str
    """The id of the row that it was derived from."""
    channel: str = field(default="", compare=False)
    """How it reaches the agent."""
    goal: str = field(default="", compare=False)
    """What it is for: figures are grouped by this, by the channel and by the name."""
    revision: str = field(default="", compare=False)
    """A hash of all that decides what it does: results of another one are not of this row."""


class Attempted(Protocol):
    """What says of an attempt how its row came about and what it came to: its record, or a short form."""

    @property
    def query_id(self) -> str:
        """Its row."""

    @property
    def derived(self) -> Derived | None:
        """What its row was derived from; None for a plain one."""

    @property
    def verdict(self) -> Verdict:
        """What it came to."""

    @property
    def grader_results(self) -> Mapping[str, Any]:
        """Its grades by the names of graders: each has ``verdict``, ``score`` and ``outcome``."""


def base_of(data: Attempted) -> str:
    """Return the id of the row that an attempt's one was derived from; its own id for a plain row."""
    return data.query_id if data.derived is None else data.derived.of


def find_score(data: Attempted) -> float | None:
    """Return the score of the grade on what an attempt's row was derived by; None if there is none."""
    grade = data.grader_results.get(data.derived.by) if data.derived is not None else None
    return None if grade is None else grade.score


def find_outcome(data: Attempted) -> str | None:
    """Return in a word what became of what a row was derived by; None without, and if something broke."""
    grade = data.grader_results.get(data.derived.by) if data.derived is not None else None
    if grade is None or Verdict.ERRORED in (data.verdict, grade.verdict):
        return None
    return str(grade.outcome) or None


def is_judged(data: Attempted) -> bool:
    """Whether an attempt is in a rate: one at a derived row if its agent has met what it was derived by."""
    if data.derived is None:
        return data.verdict is not Verdict.ERRORED
    return find_outcome(data) is not None and find_score(data) is not None


def add_revision(own: int | str | None, derived: Derived) -> str:
    """Return the revision of a derived row: that of the row, and that of what it was derived by."""
    return (f"{own}, " if own is not None else "") + f"{derived.by} {derived.revision}"
