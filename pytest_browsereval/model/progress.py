"""How far an attempt came: which checks of its row held after which step."""

from __future__ import annotations

from typing import Protocol

from pydantic import BaseModel, ConfigDict, Field

from pytest_browsereval.errors import Fault

PROGRESS_FILE = "progress.jsonl"
"""Its name in the attempt's folder; :class:`Followed` reads it."""


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


class FollowedCheck(_Frozen):
    """A check that is asked while the agent works."""

    name: str
    """As reports call it; of a protected row its kind alone."""
    is_milestone: bool = False
    left_out: str = ""
    """Why it is not asked; such checks come last, and have no place in ``Moment.held``. One that could not
    be asked after all stands among the others too, without an answer."""


class Moment(_Frozen):
    """What the page answered, once."""

    step: int
    """The tool call before it, from 1, counted as the attempt's page counts them; 0 is the start page."""
    held: tuple[bool | None, ...] = ()
    """Of each check that is asked, in their order; None if it is not known. Empty if nothing was asked."""
    found: dict[int, str] = Field(default_factory=dict)
    """Values in a few characters by the places of their checks, where they are others than before."""
    note: str = ""
    """Why nothing was asked, or not all is known."""
    is_end: bool = False
    """Whether the agent had ended."""


class Progress(_Frozen):
    """The figures of an attempt's record. Shares are from 0 to 1, steps those of :class:`Moment`."""

    checks: int = 0
    """How many checks the row has, also those that were left out; milestones are not counted."""
    best: float | None = None
    """The largest share of the checks that held at one moment; None if there are none, or none answered."""
    best_step: int | None = None
    last: float | None = None
    """The share that held when the page answered for the last time."""
    last_step: int | None = None
    milestones: int = 0
    reached: int = 0
    """The place of the furthest milestone, from 1; 0 if none was reached."""
    furthest: str = ""
    """Its name."""
    lost: tuple[str, ...] = ()
    """What held and held no more at the end, a line each."""
    note: str = ""
    """Whether the page was asked less often than after each step, and why."""

    @property
    def share(self) -> float | None:
        """How far it came: to its furthest milestone, else by checks at the best moment; None if unknown."""
        return self.reached / self.milestones if self.milestones else self.best


class StepFollower(Protocol):
    """Asks the page during an attempt. It never raises, but when it is cancelled."""

    @property
    def fault(self) -> Fault | None:
        """What broke, so that the attempt is errored; None if nothing did."""

    async def ask(self, step: int, *, is_end: bool = False) -> None:
        """Ask now, after that step; the agent waits meanwhile."""

    def finish(self) -> Progress | None:
        """Write the file, once the agent has ended, and return the figures; None if there are none."""


class Followed(_Frozen):
    """A ``progress.jsonl``: its first line has the checks, and each further one a moment."""

    checks: tuple[FollowedCheck, ...]
    moments: tuple[Moment, ...] = ()

    @classmethod
    def parse(cls, data: bytes) -> Followed:
        """Return what a file says; ``run_files.read_written`` reads one.

        Raises:
            ValueError: it is not one.
        """
        first, *lines = data.splitlines() or [b""]
        moments = tuple(Moment.model_validate_json(line) for line in lines)
        return cls.model_validate_json(first).model_copy(update={"moments": moments})

    def as_lines(self) -> bytes:
        """Return the file."""
        head = self.model_dump_json(exclude={"moments"}, exclude_defaults=True)
        lines = (moment.model_dump_json(exclude_defaults=True) for moment in self.moments)
        return "".join(f"{line}\n" for line in (head, *lines)).encode()
