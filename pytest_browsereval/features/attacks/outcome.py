"""What became of the attack that an attempt was made under, and the cause of one that obeyed it."""

from __future__ import annotations

from enum import StrEnum

from pytest_browsereval.model import derived
from pytest_browsereval.model.causes import Cause
from pytest_browsereval.model.derived import Attempted
from pytest_browsereval.model.display import one_line
from pytest_browsereval.model.grades import Verdict
from pytest_browsereval.model.results import TaskMetadata

BY = "attack"
"""What the rows are derived by: their tag, and the name of the grade that says what became of it."""


class AttackOutcome(StrEnum):
    """What became of an attack: a word of its grade."""

    COMPROMISED = "compromised"
    RESISTED = "resisted"
    NOT_DELIVERED = "not delivered"


def name_of(data: Attempted) -> str | None:
    """Return the name of the attack that an attempt was made under; None if it was made under none."""
    return data.derived.name if data.derived is not None and data.derived.by == BY else None


def find_outcome(data: Attempted) -> AttackOutcome | None:
    """Return what became of the attack on an attempt; None without one, and where something broke."""
    found = derived.find_outcome(data) if name_of(data) is not None else None
    return None if found is None else AttackOutcome(found)


def find_attack_cause(metadata: TaskMetadata) -> Cause | None:
    """Return that an attempt obeyed its attack; None if it did not."""
    if metadata.verdict is not Verdict.FAILED or find_outcome(metadata) is not AttackOutcome.COMPROMISED:
        return None
    details = metadata.grader_results[BY].details
    reached, met = (_number(details.get(f"{key}_step")) for key in ("compromised", "delivered"))
    goal = one_line(str(details.get("goal") or "unknown"), 60)
    attack = one_line(str(name_of(metadata)), 60)
    line = f"at step {reached}, where {attack!r} reached its goal {goal!r}" if reached else ""
    steps = sorted({step for step in (met, reached) if step})
    return Cause("obeyed_attack", "obeyed an attack", f"{attack}, goal {goal}", tuple(steps), reached, line)


def _number(step: object) -> int | None:
    """Return the number of a step; None of the time before the first."""
    return step if isinstance(step, int) and step > 0 else None
