"""Why an attempt did not pass: by rules over what is recorded of it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Cause:
    """The main cause of a failed or errored attempt, with the steps that show it."""

    name: str
    """The rule that holds, such as ``wrong_target``; of an errored attempt what broke, such as ``site``."""
    label: str
    """The same in words; begins with *likely* where the record does not prove it."""
    detail: str
    """What it is about: a target, a page, an error text. It comes from pages and models; empty if unknown."""
    steps: tuple[int, ...]
    """The numbers of the steps that the rule rests on; empty if it rests on none."""
    step: int | None
    """The number of the first wrong step; None if nothing tells which it is."""
    line: str
    """Where the attempt parts from what it is compared with, in a line."""

    def describe(self) -> str:
        """Return the cause, and where it shows, in a line."""
        return f"{self.label}; {self.line}" if self.line else self.label
