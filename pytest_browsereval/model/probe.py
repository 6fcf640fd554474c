"""What playing the known way of a failed attempt's row has shown: whether the site broke, or the agent."""

from __future__ import annotations

from enum import StrEnum

from pydantic import BaseModel, ConfigDict, Field


class ProbeOutcome(StrEnum):
    """What is known then. The values are on disk and permanent."""

    BROKEN = "broken"
    """A proved way breaks twice at one step: the site's fault."""
    WORKS = "works"
    """The way passes: the agent's failure."""
    UNPROVED = "unproved"
    """The way breaks, and nothing shows that it ever passed."""
    UNDECIDED = "undecided"
    """The way could not be tried, or broke at two different steps."""


class Probe(BaseModel):
    """A known way that was played after an attempt had failed."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    outcome: ProbeOutcome
    reason: str
    """What it comes to, in words: where the way breaks and how, or why it says nothing."""
    step: int | None = Field(default=None, ge=0)
    """The step that breaks; 0 is the start page, None the grades at the end, or no step."""
    target: str = ""
    """What that step acts on, as a reader calls it."""
    place: str = ""
    """The folder below the run's that has the record of it."""

    @property
    def is_broken(self) -> bool:
        """Whether the site is to blame."""
        return self.outcome is ProbeOutcome.BROKEN
