"""Result of a gate rule."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class RuleResult:
    """The result of one rule of the gate."""

    name: str
    is_met: bool
    """For a rule that is undecided: True if the gate accepts that."""
    message: str
    """The figures behind the result, in one line."""
    is_undecided: bool = False
    tasks: tuple[str, ...] = ()
    """Ids of the rows that decided it, if it is about single ones: the run's page leads to their trials."""

    @property
    def word(self) -> str:
        """The rule's verdict: met, not met or undecided."""
        return "undecided" if self.is_undecided else "met" if self.is_met else "not met"
