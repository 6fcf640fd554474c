"""Names of trials: which row, which agent setup, which repeat."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TrialKey:
    """Which trial: a task, an agent setup and a number from 1."""

    query_id: str
    variant: str = "default"
    trial: int = 1
