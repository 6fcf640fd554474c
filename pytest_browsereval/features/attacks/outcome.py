"""What became of the attack that an attempt was made under."""

from __future__ import annotations

from enum import StrEnum

from pytest_browsereval.model import derived
from pytest_browsereval.model.derived import Attempted

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
