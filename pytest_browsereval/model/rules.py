"""Result of a gate rule."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class RuleResult:
    """What one rule of the gate says."""

    name: str
    is_met: bool
    """Of a rule that is undecided: whether the gate lets that pass."""
    message: str
    """The figures it rests on, in one line."""
    is_undecided: bool = False

    @property
    def word(self) -> str:
        """The rule's verdict: met, not met or undecided."""
        return "undecided" if self.is_undecided else "met" if self.is_met else "not met"
